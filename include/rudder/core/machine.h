// SPDX-License-Identifier: Apache-2.0
// What this machine is: cores, memory, names. Threads get names here.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/result.h"

namespace rudder {

struct Machine {
  std::string processor;           ///< model name
  std::size_t cores = 1;           ///< cores this process may run on
  std::size_t memory_bytes = 0;    ///< physical memory
  std::size_t cache_l2_bytes = 0;  ///< of one core; 0 when unknown
  std::size_t cache_l3_bytes = 0;
  std::string kernel;
};

/// Reads the machine's topology once (hwloc) and remembers it. Thread-safe.
[[nodiscard]] const Machine& this_machine();
/// Memory that can be taken now without swapping (MemAvailable), bytes.
[[nodiscard]] std::size_t available_memory_bytes();
/// Peak resident set size of this process, bytes.
[[nodiscard]] std::size_t peak_rss_bytes();
/// Names the calling thread for debuggers and `top` (cut to 15 characters).
void name_this_thread(std::string_view name);
/// From now on the calling thread, and those that it starts, run on these processors alone.
[[nodiscard]] Status pin_this_thread(std::span<const int> processors);
/// From now on the calling thread, and those that it starts, run only on what all others leave idle.
[[nodiscard]] Status run_this_thread_when_idle();

}  // namespace rudder

// SPDX-License-Identifier: Apache-2.0
// Counts calls of the global operator new in programs that allocation_counter.cc is a source of.
#pragma once

#include <atomic>
#include <cstddef>

namespace rudder::test {

extern std::atomic<std::size_t> allocations;

}  // namespace rudder::test

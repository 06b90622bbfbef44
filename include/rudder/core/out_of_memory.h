// SPDX-License-Identifier: Apache-2.0
// What happens when memory runs out where nobody handles it.
#pragma once

#include <cstddef>
#include <vector>

namespace rudder {

/// From now on, memory or threads that run out where nobody handles it end the process as a signal does (see
/// core/interrupt.h): pending paths are removed, last words are said, one line on standard error says so, the
/// code is 1. On whatever thread. Called in main().
void end_cleanly_without_memory();

/// What such an end writes to a connected socket, so that the other side learns why: made while there is
/// memory, and written as far as the socket takes it without waiting. The descriptor must stay open as long
/// as this lives. Costs one lock to make and one to drop.
class LastWords {
 public:
  LastWords() = default;
  LastWords(int descriptor, std::vector<std::byte> words);
  LastWords(LastWords&& other) noexcept;
  LastWords& operator=(LastWords&& other) noexcept;
  ~LastWords();

 private:
  friend void say_last_words() noexcept;
  void link() noexcept;
  void unlink() noexcept;

  int descriptor_ = -1;  ///< -1: says nothing
  std::vector<std::byte> words_;
  LastWords* before_ = nullptr;
  LastWords* after_ = nullptr;
};

}  // namespace rudder

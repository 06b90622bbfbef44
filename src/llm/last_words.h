// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>
#include <string>

namespace rudder::llm {

/// While one lives, a crash of the process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) first writes
/// "rudder: TEXT" to standard error, then goes its way. For third-party code that reads files from outside.
/// One at a time; texts above 500 characters are cut.
class LastWords {
 public:
  explicit LastWords(const std::string& text);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  std::array<struct sigaction, 5> previous_{};
};

}  // namespace rudder::llm

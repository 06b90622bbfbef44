// SPDX-License-Identifier: Apache-2.0
#include "llm/last_words.h"

#include <algorithm>

#include <unistd.h>

#include "rudder/core/text.h"

namespace rudder::llm {
namespace {

constexpr std::array<int, 5> kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Signal handlers reach nothing but globals.
std::array<char, 512> words;
std::size_t word_bytes = 0;

extern "C" void say_last_words(int signal) {
  static_cast<void>(!::write(STDERR_FILENO, words.data(), word_bytes));
  // The handler was a one-time one: what crashed crashes again, and abort() goes on by itself.
  static_cast<void>(::raise(signal));
}

}  // namespace

LastWords::LastWords(const std::string& text) {
  const std::string line = "rudder: " + printable(text).substr(0, 500) + "\n";
  word_bytes = std::min(line.size(), words.size());
  std::copy_n(line.begin(), word_bytes, words.begin());
  struct sigaction action {};
  action.sa_handler = say_last_words;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    ::sigaction(kCrashes[i], &action, &previous_[i]);
  }
}

LastWords::~LastWords() {
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    ::sigaction(kCrashes[i], &previous_[i], nullptr);
  }
}

}  // namespace rudder::llm

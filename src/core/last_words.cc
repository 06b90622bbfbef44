// SPDX-License-Identifier: Apache-2.0
#include "core/last_words.h"

#include <mutex>
#include <utility>

#include <sys/socket.h>

#include "rudder/core/out_of_memory.h"

namespace rudder {
namespace {

// A list through its members: nothing here asks for memory.
std::mutex list_mutex;
LastWords* first = nullptr;

}  // namespace

void LastWords::link() noexcept {
  if (descriptor_ >= 0) {
    const std::lock_guard lock(list_mutex);
    before_ = nullptr;
    after_ = first;
    if (first != nullptr) {
      first->before_ = this;
    }
    first = this;
  }
}

void LastWords::unlink() noexcept {
  if (descriptor_ >= 0) {
    const std::lock_guard lock(list_mutex);
    (before_ == nullptr ? first : before_->after_) = after_;
    if (after_ != nullptr) {
      after_->before_ = before_;
    }
  }
}

LastWords::LastWords(int descriptor, std::vector<std::byte> words)
    : descriptor_(descriptor), words_(std::move(words)) {
  link();
}

LastWords::LastWords(LastWords&& other) noexcept {
  *this = std::move(other);
}

LastWords& LastWords::operator=(LastWords&& other) noexcept {
  if (this != &other) {
    unlink();
    other.unlink();
    descriptor_ = std::exchange(other.descriptor_, -1);
    words_ = std::move(other.words_);
    link();
  }
  return *this;
}

LastWords::~LastWords() {
  unlink();
}

void say_last_words() noexcept {
  const std::lock_guard lock(list_mutex);
  for (const LastWords* one = first; one != nullptr; one = one->after_) {
    static_cast<void>(
        ::send(one->descriptor_, one->words_.data(), one->words_.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
}

}  // namespace rudder

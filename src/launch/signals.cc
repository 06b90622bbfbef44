// SPDX-License-Identifier: Apache-2.0
#include "launch/signals.h"

#include <atomic>
#include <csignal>

#include "rudder/launch/process.h"

namespace rudder::launch {
namespace {

// Signal handlers reach nothing but globals. A pipe wakes the supervisor's poll().
std::atomic<int> waiting_signal{0};
std::atomic<int> wake_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free);
int scopes = 0;  // nesting of SignalScope; used by one thread at a time
// SIGPIPE must not end a supervisor before its children; the failed write is noticed instead.
constexpr std::array<int, 5> kHandled = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE};
std::array<struct sigaction, kHandled.size()> previous_actions;

extern "C" void note_signal(int signal) {
  const int saved = errno;
  if (signal != SIGCHLD && signal != SIGPIPE) {
    waiting_signal.store(signal, std::memory_order_relaxed);
  }
  if (const int fd = wake_fd.load(std::memory_order_relaxed); fd >= 0) {
    static_cast<void>(!::write(fd, "", 1));
  }
  errno = saved;
}

}  // namespace

WakePipe::~WakePipe() {
  wake_fd.store(-1, std::memory_order_relaxed);
}

Status WakePipe::open() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return errno_error("cannot create a pipe");
  }
  read_ = Fd(ends[0]);
  write_ = Fd(ends[1]);
  wake_fd.store(ends[1], std::memory_order_relaxed);
  return {};
}

void WakePipe::drain() const {
  std::array<char, 64> ignored;
  while (::read(read_.get(), ignored.data(), ignored.size()) > 0) {
  }
}

SignalScope::SignalScope() {
  if (scopes++ > 0) {
    return;
  }
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kHandled.size(); ++i) {
    ::sigaction(kHandled[i], &action, &previous_actions[i]);
  }
}

SignalScope::~SignalScope() {
  if (--scopes > 0) {
    return;
  }
  for (std::size_t i = 0; i < kHandled.size(); ++i) {
    ::sigaction(kHandled[i], &previous_actions[i], nullptr);
  }
}

int SignalScope::take() noexcept {
  return waiting_signal.exchange(0, std::memory_order_relaxed);
}

}  // namespace rudder::launch

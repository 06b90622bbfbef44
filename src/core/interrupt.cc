// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/interrupt.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "rudder/core/machine.h"
#include "rudder/core/out_of_memory.h"
#include "rudder/core/text.h"

#include "core/last_words.h"

namespace rudder {
namespace {

constexpr std::array<int, 3> kEnding = {SIGINT, SIGTERM, SIGHUP};

struct Pending {
  std::mutex mutex;
  std::multiset<std::filesystem::path> paths;
};

Pending& pending() {
  // Never destroyed: the watcher may outlast other globals.
  static auto* const all = new Pending;
  return *all;
}

// The handler reaches nothing but globals; the watcher does the work, where locks and memory are allowed.
std::atomic<int> signal_pipe{-1};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<struct sigaction, kEnding.size()> previous_actions;

extern "C" void pass_on(int signal) {
  const int saved = errno;
  const auto number = static_cast<unsigned char>(signal);
  if (const int fd = signal_pipe.load(std::memory_order_relaxed); fd >= 0) {
    static_cast<void>(!::write(fd, &number, 1));
  }
  errno = saved;
}

[[noreturn]] void end_process(std::string_view why, int code) {
  Pending& all = pending();
  all.mutex.lock();  // kept to the end: who registers a path now waits
  for (const std::filesystem::path& path : all.paths) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  const std::string line = fmt::format("rudder: {}\n", why);
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  ::_exit(code);
}

/// Given back when nothing else is left, for the last steps.
std::unique_ptr<std::array<char, 1 << 20>> memory_reserve;
std::terminate_handler previous_terminate = nullptr;

[[noreturn]] void end_for_lack_of(const char* what) {
  memory_reserve.reset();
  say_last_words();
  end_process(fmt::format("out of {} ({} were in use at most)", what,
                          human_bytes(static_cast<double>(peak_rss_bytes()))),
              1);
}

[[noreturn]] void end_without_memory() noexcept {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) {
      std::rethrow_exception(thrown);
    }
  } catch (const std::bad_alloc&) {
    end_for_lack_of("memory");
  } catch (const std::system_error& error) {  // a thread that could not be made, for one
    if (error.code() == std::errc::resource_unavailable_try_again ||
        error.code() == std::errc::not_enough_memory) {
      end_for_lack_of("memory or threads");
    }
  } catch (...) {  // the handler before this one says what it was
  }
  previous_terminate();
  std::abort();
}

void watch(int read_end) {
  // Signals go to the threads that work: METIS, for one, jumps out of its own handler.
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (;;) {
    unsigned char signal = 0;
    const ssize_t n = ::read(read_end, &signal, 1);
    if (n == 1 && signal != 0) {
      end_process("stopped by " + signal_text(signal), 128 + signal);
    }
    if (n >= 0 || errno != EINTR) {  // a zero is the guard's farewell
      ::close(read_end);
      return;
    }
  }
}

}  // namespace

std::string signal_text(int signal) {
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

void occupy_standard_descriptors() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      // The lowest free descriptor, which is this one.
      static_cast<void>(!::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

void end_cleanly_without_memory() {
  memory_reserve = std::make_unique<std::array<char, 1 << 20>>();
  previous_terminate = std::set_terminate(end_without_memory);
}

PendingPath::PendingPath(std::filesystem::path path) : path_(std::move(path)) {
  if (!path_.empty()) {
    Pending& all = pending();
    std::multiset<std::filesystem::path> one = {path_};  // under the lock no memory is asked for
    const std::lock_guard lock(all.mutex);
    all.paths.insert(one.extract(one.begin()));
  }
}

PendingPath::PendingPath(PendingPath&& other) noexcept : path_(std::exchange(other.path_, {})) {}

PendingPath& PendingPath::operator=(PendingPath&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

PendingPath::~PendingPath() {
  if (!path_.empty()) {
    Pending& all = pending();
    const std::lock_guard lock(all.mutex);
    all.paths.erase(all.paths.find(path_));
  }
}

Result<InterruptGuard> InterruptGuard::install() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{Errc::kResource,
                 "cannot create a pipe for signals: " + std::generic_category().message(errno)};
  }
  signal_pipe.store(ends[1], std::memory_order_relaxed);
  InterruptGuard guard(ends[0]);
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(kEnding[i], nullptr, &previous_actions[i]);
    if (previous_actions[i].sa_handler != SIG_IGN) {
      ::sigaction(kEnding[i], &action, nullptr);
    }
  }
  return guard;
}

InterruptGuard::InterruptGuard(int read_end) : watcher_(watch, read_end) {}

InterruptGuard::~InterruptGuard() {
  if (!watcher_.joinable()) {
    return;
  }
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    ::sigaction(kEnding[i], &previous_actions[i], nullptr);
  }
  const int write_end = signal_pipe.exchange(-1, std::memory_order_relaxed);
  static_cast<void>(!::write(write_end, "", 1));
  watcher_.join();
  ::close(write_end);
}

}  // namespace rudder

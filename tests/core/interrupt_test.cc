// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/interrupt.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/core/out_of_memory.h"

namespace rudder {
namespace {

namespace fs = std::filesystem;

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

/// Runs in a child of its own: begins a file, a folder and a temporary directory below `directory` and sends
/// itself a signal.
[[noreturn]] void leave_by_signal(const fs::path& directory, int signal) {
  const auto guard = InterruptGuard::install();
  auto file = AtomicFile::create(directory / "file");
  static_cast<void>(file->write(std::string_view("half")));
  ::setenv("TMPDIR", directory.c_str(), 1);
  const auto temporary = TemporaryDirectory::create("scratch");
  const PendingPath folder(directory / "folder");
  fs::create_directories(folder.path() / "inner");
  std::ofstream(folder.path() / "inner" / "array.npy") << "bytes";
  std::raise(signal);
  ::sleep(20);  // a signal that is not acted on shows as this exit
  ::_exit(0);
}

/// Begins a file and then asks for more memory than there is, on another thread.
[[noreturn]] void run_out_of_memory(const fs::path& directory) {
  end_cleanly_without_memory();
  auto file = AtomicFile::create(directory / "file");
  static_cast<void>(file->write(std::string_view("half")));
  std::thread([] { throw std::bad_alloc(); }).join();
  ::_exit(0);
}

class Interrupt : public testing::Test {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    if (const char* parents = std::getenv(kVariable)) {  // in the child, which begins the test anew
      directory_ = parents;
      return;
    }
    std::string pattern = testing::TempDir() + "interrupt-test.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    ::setenv(kVariable, pattern.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv(kVariable);
    fs::remove_all(directory_);
  }
  [[nodiscard]] const fs::path& directory() const { return directory_; }

 private:
  static constexpr const char* kVariable = "RUDDER_INTERRUPT_TEST_FOLDER";
  fs::path directory_;  // not a TemporaryDirectory: the children would remove it as theirs
};

TEST_F(Interrupt, TheEndOfMemoryIsOneLineAndNothingUnfinishedStays) {
  EXPECT_EXIT(run_out_of_memory(directory()), testing::ExitedWithCode(1),
              "rudder: out of memory \\(.* were in use");
  EXPECT_EQ(entries(directory()), 0U);
}

TEST_F(Interrupt, TheEndOfThreadsIsOneLineToo) {
  const auto run_out_of_threads = [] {
    end_cleanly_without_memory();
    std::thread([] {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }).join();
  };
  EXPECT_EXIT(run_out_of_threads(), testing::ExitedWithCode(1), "rudder: out of memory or threads");
}

TEST_F(Interrupt, LastWordsAreSaidAtTheEndOfMemoryByThoseThatLive) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    end_cleanly_without_memory();
    const auto words = [&](std::string_view text) {
      const auto bytes = std::as_bytes(std::span(text));
      return LastWords(ends[0], {bytes.begin(), bytes.end()});
    };
    LastWords first = words("first ");
    const LastWords dropped = std::exchange(first, words("second "));
    LastWords moved = words("third ");
    LastWords third(std::move(moved));
    { const LastWords gone = words("gone "); }
    first = std::move(third);
    const LastWords closed(-1, {});
    std::thread([] { throw std::bad_alloc(); }).join();
    ::_exit(0);
  }
  ::close(ends[0]);
  std::string heard;
  std::array<char, 64> some{};
  for (ssize_t n = 1; n > 0;) {
    n = ::read(ends[1], some.data(), some.size());
    heard.append(some.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  ::close(ends[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_TRUE(heard == "first third " || heard == "third first ") << heard;
}

TEST_F(Interrupt, OtherUncaughtExceptionsAreStillAborts) {
  EXPECT_EXIT(
      {
        end_cleanly_without_memory();
        std::thread([] { throw std::logic_error("broken"); }).join();
      },
      testing::KilledBySignal(SIGABRT), "broken");
}

TEST_F(Interrupt, SignalsEndTheProgramAndSayWhich) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(leave_by_signal(directory(), signal), testing::ExitedWithCode(128 + signal),
                "stopped by signal " + std::to_string(signal));
  }
}

TEST_F(Interrupt, NothingUnfinishedIsLeft) {
  const fs::path kept = directory() / "kept";
  ASSERT_TRUE(write_text(kept, "whole").ok());
  const pid_t child = ::fork();
  if (child == 0) {
    leave_by_signal(directory(), SIGTERM);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_EQ(entries(directory()), 1U);
}

TEST_F(Interrupt, WhatWasKeptIsNotRemoved) {
  const fs::path folder = directory() / "folder";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto guard = InterruptGuard::install();
    PendingPath pending(folder);
    fs::create_directories(folder);
    pending = {};
    std::raise(SIGINT);
    ::sleep(20);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGINT);
  EXPECT_TRUE(fs::exists(folder));
}

TEST_F(Interrupt, IgnoredSignalsStayIgnored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  {
    const auto guard = InterruptGuard::install();
    ASSERT_TRUE(guard.ok());
    std::raise(SIGHUP);
  }
  ::signal(SIGHUP, before);
}

}  // namespace
}  // namespace rudder

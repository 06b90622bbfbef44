// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/interrupt.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
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
    std::string pattern = testing::TempDir() + "interrupt-test.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }
  [[nodiscard]] const fs::path& directory() const { return directory_; }

 private:
  fs::path directory_;  // not a TemporaryDirectory: the children would remove it as theirs
};

TEST_F(Interrupt, TheEndOfMemoryIsOneLineAndNothingUnfinishedStays) {
  EXPECT_EXIT(run_out_of_memory(directory()), testing::ExitedWithCode(1),
              "rudder: out of memory \\(.* were in use");
  EXPECT_EQ(entries(directory()), 0U);
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

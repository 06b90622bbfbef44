// SPDX-License-Identifier: Apache-2.0
// The memory's file: it outlives its process, however that ends, several processes may share it, and a file
// that is something else is refused and left as it is.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/steer/memory.h"

#include "steer/experiences.h"

namespace rudder::steer {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_support::drawn_experience;
using testing_support::expect_equal;

class Store : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Memory> open(std::size_t limit = 100'000) const {
    auto memory = Memory::open(path_, limit);
    EXPECT_TRUE(memory.ok()) << memory.error().message;
    return memory.ok() ? std::move(memory).value() : nullptr;
  }
  /// Runs SQL on the file behind the store's back.
  void meddle(const std::string& sql) const {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
  /// Opening fails in one clear line and changes no byte.
  void expect_refused(const std::string& message) const {
    const std::string before = read_text(path_).value();
    const auto memory = Memory::open(path_);
    ASSERT_FALSE(memory.ok()) << message;
    EXPECT_EQ(memory.error().code, Errc::kInvalidData) << memory.error().message;
    EXPECT_THAT(memory.error().message, HasSubstr(path_.string()));
    EXPECT_THAT(memory.error().message, HasSubstr(message));
    EXPECT_EQ(memory.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(read_text(path_).value(), before);
  }
  void fill(std::uint64_t count) const {
    const auto memory = open();
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(memory->add(drawn_experience(actions_, i)).ok());
    }
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create("rudder-store").value();
  fs::path path_ = folder_.path() / "experience";
  ActionSet actions_ = replace_actions();
};

TEST_F(Store, IsThereAgainWithNothingBesideIt) {
  fill(5);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
  const auto found = open()->all(actions_).value();
  ASSERT_EQ(found.size(), 5U);
  for (std::uint64_t i = 0; i < 5; ++i) {
    expect_equal(found[i], drawn_experience(actions_, i));
  }
}

TEST_F(Store, AProcessKilledWhileAddingLosesNothingThatItHadAdded) {
  CounterRng rng({31});
  std::uint64_t told = 0;  // by all children together, each of which goes on where the last was killed
  for (int round = 0; round < 5; ++round) {
    int channel[2];
    ASSERT_EQ(::pipe(channel), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto memory = Memory::open(path_);
      std::uint64_t next = memory.ok() ? (*memory)->all(actions_).value().size() : 0;
      while (memory.ok() && (*memory)->add(drawn_experience(actions_, next)).ok()) {
        ++next;
        if (::write(channel[1], &next, sizeof(next)) != sizeof(next)) {
          break;
        }
      }
      ::_exit(1);
    }
    ::close(channel[1]);
    const std::uint64_t stop = told + 20 + rng.below(60);
    std::uint64_t next = 0;
    while (next < stop && ::read(channel[0], &next, sizeof(next)) == sizeof(next)) {
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    while (::read(channel[0], &next, sizeof(next)) == sizeof(next)) {
    }
    ::close(channel[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it was to be killed while it added";
    told = next;
    const auto memory = open();
    ASSERT_NE(memory, nullptr);
    const auto found = memory->all(actions_).value();
    ASSERT_GE(found.size(), told);
    ASSERT_LE(found.size(), told + 1) << "one may have been finished and not told";
    for (std::size_t i = 0; i < found.size(); ++i) {
      expect_equal(found[i], drawn_experience(actions_, i));
    }
    told = found.size();
  }
  EXPECT_GT(told, 100U);
}

TEST_F(Store, TwoProcessesMayFillItAtOnce) {
  constexpr std::uint64_t kEach = 100;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  const std::uint64_t base = child == 0 ? 1'000'000 : 0;
  bool good = true;
  {
    const auto memory = Memory::open(path_);  // both may be the one that creates it
    good = memory.ok();
    for (std::uint64_t i = 0; good && i < kEach; ++i) {
      Experience each = drawn_experience(actions_, base + i);
      each.sequence = base + i;
      good = (*memory)->add(each).ok() && (*memory)->nearest(actions_, each.features, 1).ok();
    }
  }
  if (child == 0) {
    ::_exit(good ? 0 : 1);
  }
  EXPECT_TRUE(good);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const auto found = open()->all(actions_).value();
  ASSERT_EQ(found.size(), 2 * kEach);
  std::uint64_t ours = 0;
  std::uint64_t theirs = 1'000'000;
  for (const Experience& each : found) {  // each process's in its order
    std::uint64_t& expected = each.sequence < 1'000'000 ? ours : theirs;
    EXPECT_EQ(each.sequence, expected++);
  }
}

TEST_F(Store, WhatOthersHoldLockedIsAnErrorInTheEnd) {
  fill(1);
  const auto memory = open();
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const TimePoint begin = steady_clock().now();
  const Status status = memory->add(drawn_experience(actions_, 2));
  const Duration waited = steady_clock().now() - begin;
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Errc::kTimeout);
  EXPECT_THAT(status.error().message, HasSubstr("other processes kept it locked for 5 s"));
  EXPECT_GE(waited, Memory::kBusyTimeout - std::chrono::milliseconds(500));
  EXPECT_TRUE(memory->nearest(actions_, {}, 1).ok()) << "readers do not wait for writers";
  sqlite3_close(handle);
  EXPECT_TRUE(memory->add(drawn_experience(actions_, 2)).ok()) << "it is not stuck";
}

TEST_F(Store, AFullDiskIsAnErrorAndLosesNothingThatWasAdded) {
  fill(3);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{3'000'000, 3'000'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto memory = Memory::open(path_);
    std::uint64_t next = 3;
    while (memory.ok() && next < 10'000) {
      const Status status = (*memory)->add(drawn_experience(actions_, next));
      if (!status.ok()) {
        const bool named = status.error().message.find(path_.string()) != std::string::npos;
        ::_exit(named && (*memory)->all(actions_).value().size() == next && next < 256 * 3
                    ? static_cast<int>(next / 3)
                    : 0);
      }
      ++next;
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_GT(WEXITSTATUS(status), 10) << "an error that names the store, which holds what was added";
  const auto found = open()->all(actions_).value();
  EXPECT_EQ(found.size() / 3, static_cast<std::size_t>(WEXITSTATUS(status)));
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_equal(found[i], drawn_experience(actions_, i));
  }
  EXPECT_TRUE(open()->add(drawn_experience(actions_, 1)).ok()) << "with room again";
}

TEST_F(Store, ForeignFilesAreRefusedUntouched) {
  std::ofstream(path_).close();
  expect_refused("it is empty");
  std::ofstream(path_) << "hello";
  expect_refused("it begins otherwise");
  std::ofstream(path_) << std::string(5000, '\0');
  expect_refused("it begins otherwise");
  fs::remove(path_);
  meddle("CREATE TABLE people (name TEXT); INSERT INTO people VALUES ('x')");
  expect_refused("it begins otherwise");
}

TEST_F(Store, AnotherVersionIsRefusedUntouched) {
  fill(1);
  meddle("PRAGMA user_version = 2");
  expect_refused("version 2, this program writes 1");
}

TEST_F(Store, OtherTablesAndWhatCouldRunAreRefusedUntouched) {
  for (const std::string sql :
       {"CREATE TRIGGER t AFTER INSERT ON experience BEGIN DELETE FROM experience; END",
        "CREATE TABLE more (x)", "DROP INDEX experience_search",
        "ALTER TABLE experience ADD COLUMN extra TEXT"}) {
    fs::remove(path_);
    fill(1);
    meddle(sql);
    expect_refused("tables");
  }
}

TEST_F(Store, DamageAnywhereIsAnErrorOrHarmless) {
  fill(30);
  const std::string good = read_text(path_).value();
  CounterRng rng({33});
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bad = good;
    if (round % 4 == 0) {
      bad.resize(rng.below(bad.size()));
    } else {
      const std::size_t at = rng.below(bad.size());
      const std::size_t length = std::min<std::size_t>(1 + rng.below(64), bad.size() - at);
      for (std::size_t i = 0; i < length; ++i) {
        bad[at + i] = static_cast<char>(rng.below(256));
      }
    }
    fs::remove(path_.string() + "-wal");
    fs::remove(path_.string() + "-shm");
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bad;
    const auto memory = Memory::open(path_);
    if (!memory.ok()) {
      EXPECT_THAT(memory.error().message, HasSubstr(path_.string()));
      EXPECT_EQ(read_text(path_).value(), bad) << "refused, so untouched";
      ++refused;
      continue;
    }
    const auto found = (*memory)->all(actions_);
    if (!found.ok()) {
      EXPECT_THAT(found.error().message, HasSubstr(path_.string()));
      EXPECT_EQ(found.error().code, Errc::kInvalidData);
    }
    static_cast<void>((*memory)->nearest(actions_, {}, 5));
    static_cast<void>((*memory)->add(drawn_experience(actions_, 99)));
  }
  EXPECT_GT(refused, 50);
}

TEST_F(Store, ValuesThatCannotBeRightAreNamed) {
  const auto refuses = [&](const std::string& change, const std::string& message) {
    fs::remove(path_);
    fill(3);
    meddle("UPDATE experience SET " + change + " WHERE place = 2");
    const auto memory = open();
    const auto found = memory->all(actions_);
    ASSERT_FALSE(found.ok()) << change;
    EXPECT_EQ(found.error().code, Errc::kInvalidData);
    EXPECT_THAT(found.error().message, HasSubstr(path_.string() + ": experience 2: "));
    EXPECT_THAT(found.error().message, HasSubstr(message));
  };
  refuses("features = x'00'", "not as many features");
  refuses("features = x'" + std::string(88, '0') + "0000c07f'", "a feature is not finite");
  refuses("costs = x''", "no costs");
  refuses("costs = zeroblob(7)", "no costs");
  refuses("costs = zeroblob(24)", "3 costs for 2 actions");
  refuses("costs = zeroblob(1000)", "more than there can be actions");
  refuses("best = 2", "number 2");
  refuses("best = -1", "number");
  refuses("report = '{'", "");
  refuses("decision = '[]'", "a decision lacks a field");
  refuses("decision = '{\"sequence\": -1}'", "a decision lacks a field");
  refuses("observed = '[0, 3]'", "directions");
  refuses("observed = '[0]'", "directions");
  refuses("run = printf('%300d', 1)", "300 bytes");
}

TEST_F(Store, APlaceAtTheEndOfNumbersIsRefused) {
  fill(1);
  meddle("UPDATE experience SET place = 9223372036854775807");
  const Status status = open()->add(drawn_experience(actions_, 2));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Errc::kInvalidData);
}

TEST_F(Store, AFolderThatIsNotThereIsAnError) {
  const auto memory = Memory::open(folder_.path() / "none" / "store");
  ASSERT_FALSE(memory.ok());
  EXPECT_THAT(memory.error().message, HasSubstr("none/store"));
  EXPECT_FALSE(Memory::open(folder_.path()).ok()) << "a folder is no store";
}

}  // namespace
}  // namespace rudder::steer

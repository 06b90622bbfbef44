// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/core/sha256.h"

#include "train/learning_rate.h"

namespace rudder::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Checkpoint example(std::uint64_t step, std::size_t parameters = 1000) {
  Checkpoint out;
  out.identity = R"({"seed":1,"batch":512})";
  out.next_step = step;
  out.learner.updates = step;
  for (std::size_t i = 0; i < parameters; ++i) {
    out.learner.parameters.push_back(static_cast<float>(std::sin(static_cast<double>(i + step))));
    out.learner.mean.push_back(-0.0F);
    out.learner.square.push_back(1e-30F);
  }
  out.losses.assign(step, 0.25F);
  out.epoch_loss = 0.1 + static_cast<double>(step);
  out.epochs.push_back({.epoch = 0, .loss = 1.0 / 3, .seconds = 2.5, .requests = std::uint64_t{1} << 63});
  out.epochs.push_back({.epoch = 1, .evaluation_seconds = 0.125, .val_accuracy = 2.0 / 3});
  out.best = BestEpoch{.epoch = 1, .accuracy = 2.0 / 3, .parameters = out.learner.mean};
  return out;
}

TEST(Checkpoint, ComesBackBitForBit) {
  const Checkpoint before = example(37);
  const auto bytes = encode_checkpoint(before);
  const auto after = decode_checkpoint(bytes, "file");
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(encode_checkpoint(*after), bytes);
  EXPECT_EQ(after->epoch_loss, before.epoch_loss);
  EXPECT_TRUE(std::signbit(after->learner.mean[0]));
  EXPECT_EQ(after->epochs[0].requests, std::uint64_t{1} << 63);
  EXPECT_EQ(after->epochs[0].val_accuracy, std::nullopt);
  EXPECT_EQ(after->epochs[1].val_accuracy, 2.0 / 3);
  EXPECT_EQ(after->best->accuracy, 2.0 / 3);
  Checkpoint without = before;
  without.best.reset();
  const auto read = decode_checkpoint(encode_checkpoint(without), "file");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->best.has_value());
  EXPECT_EQ(read->losses, before.losses);
}

TEST(Checkpoint, AnyDamageIsNoticed) {
  const auto bytes = encode_checkpoint(example(5, 40));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{0x10};
    EXPECT_FALSE(decode_checkpoint(damaged, "file").ok()) << "byte " << i;
    EXPECT_FALSE(decode_checkpoint(std::span(bytes).first(i), "file").ok()) << "cut at " << i;
  }
}

/// A file whose checksum is right and whose header is `header`.
std::vector<std::byte> forged(std::string header, std::size_t array_bytes) {
  auto whole = encode_checkpoint(example(0, 0));
  std::vector<std::byte> out(whole.begin(), whole.begin() + 12);
  const auto length = static_cast<std::uint32_t>(header.size());
  const auto put = [&](const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    out.insert(out.end(), first, first + bytes);
  };
  put(&length, sizeof length);
  put(header.data(), header.size());
  out.resize(out.size() + array_bytes);
  Sha256 sha;
  sha.update(out);
  const auto digest = sha.digest();
  put(digest.data(), digest.size());
  return out;
}

TEST(Checkpoint, HostileHeadersAreOneError) {
  const std::string start =
      R"({"identity":"","next_step":1,"updates":1,"epoch_loss":0,"epochs":[],"best":null,)";
  const auto error = [&](const std::string& rest) {
    const auto read = decode_checkpoint(forged(start + rest, 16), "file");
    return read.ok() ? std::string("no error") : read.error().message;
  };
  EXPECT_EQ(error(R"("parameters":1,"losses":1})"), "no error");
  EXPECT_THAT(error(R"("parameters":6148914691236517206,"losses":2})"), HasSubstr("16 bytes of arrays"));
  EXPECT_THAT(error(R"("parameters":-1,"losses":1})"), HasSubstr("16 bytes of arrays"));
  EXPECT_THAT(error(R"("parameters":1})"), HasSubstr("losses"));
  EXPECT_THAT(error(R"("parameters":"x","losses":1})"), HasSubstr("header"));
  EXPECT_THAT(error("]"), HasSubstr("header"));
  EXPECT_THAT(error(R"("parameters":1,"losses":1,"best":{"epoch":0,"accuracy":1}})"),
              HasSubstr("16 bytes of arrays"));  // the last of two equal names counts
  EXPECT_THAT(error(R"("parameters":1,"losses":0,"best":{"epoch":0,"accuracy":1}})"), "no error");
  EXPECT_THAT(error(R"("parameters":1,"losses":0,"best":{"epoch":0}})"), HasSubstr("accuracy"));
  EXPECT_THAT(error(R"("parameters":1,"losses":0,"best":7})"), HasSubstr("header"));
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_THAT(error(R"("parameters":1,"losses":1,"x":)" + deep + "}"),
              "no error");  // what is not read is dropped
}

TEST(Checkpoints, TheNewestWholeOneIsTaken) {
  const auto folder = TemporaryDirectory::create("checkpoints");
  const fs::path path = folder->path() / "run";
  EXPECT_FALSE(load_checkpoint(path).value().has_value());
  for (const std::uint64_t step : {10U, 20U, 30U, 40U}) {
    ASSERT_TRUE(save_checkpoint(path, example(step), 3).ok());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(path), {}), 3);
  EXPECT_EQ((*load_checkpoint(path).value()).next_step, 40U);
  fs::resize_file(path / "checkpoint-000000000040.rck", 100);
  EXPECT_EQ((*load_checkpoint(path).value()).next_step, 30U);
  for (const auto& entry : fs::directory_iterator(path)) {
    fs::resize_file(entry.path(), 10);
  }
  EXPECT_THAT(load_checkpoint(path).error().message,
              HasSubstr("checkpoint-000000000040.rck: not a checkpoint"));
}

TEST(Checkpoints, SaysWhichOptionsDiffer) {
  EXPECT_EQ(identity_difference(R"({"a":1,"b":"x"})", R"({"a":1,"b":"x"})"), "");
  EXPECT_EQ(identity_difference(R"({"a":1,"b":"x"})", R"({"a":2,"b":"x","c":0.5})"),
            "a was 1, is 2; c was nothing, is 0.5");
}

TEST(Checkpoints, OptionsThatNestWithoutEndDoNotExhaustTheStack) {
  const std::size_t depth = 2'000'000;
  const std::string saved = "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  EXPECT_THAT(identity_difference(saved, R"({"a":1})"), HasSubstr("is 1"));
}

TEST(CheckpointWriter, WritesTheLastOneAndReportsFailures) {
  const auto folder = TemporaryDirectory::create("checkpoints");
  {
    const auto writer = CheckpointWriter::open(folder->path() / "run", 2, true);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    for (std::uint64_t step = 1; step <= 20; ++step) {
      (*writer)->submit(example(step));
    }
    EXPECT_TRUE((*writer)->finish().ok());
  }
  EXPECT_EQ((*load_checkpoint(folder->path() / "run").value()).next_step, 20U);
  ASSERT_TRUE(write_text(folder->path() / "file", "").ok());
  EXPECT_FALSE(CheckpointWriter::open(folder->path() / "file", 2, true).ok());
  const auto vanished = CheckpointWriter::open(folder->path() / "gone", 2, true);
  fs::remove_all(folder->path() / "gone");
  ASSERT_TRUE(write_text(folder->path() / "gone", "").ok());
  (*vanished)->submit(example(1));
  EXPECT_FALSE((*vanished)->finish().ok());
}

TEST(CheckpointWriter, AFolderBelongsToOneRun) {
  const auto folder = TemporaryDirectory::create("checkpoints");
  const fs::path path = folder->path() / "run";
  ASSERT_TRUE(save_checkpoint(path, example(1), 3).ok());
  std::ofstream(path / "checkpoint-000000000002.rck.tmp.1.2") << "half";
  const auto first = CheckpointWriter::open(path, 3, false);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(std::distance(fs::directory_iterator(path), {}), 1);
  EXPECT_THAT(CheckpointWriter::open(path, 3, false).error().message, HasSubstr("another run"));
  first->get()->submit(example(2));
  EXPECT_TRUE(first->get()->finish().ok());
}

TEST(CheckpointWriter, AFreshRunLeavesOldCheckpointsAlone) {
  const auto folder = TemporaryDirectory::create("checkpoints");
  ASSERT_TRUE(save_checkpoint(folder->path(), example(9), 3).ok());
  EXPECT_THAT(CheckpointWriter::open(folder->path(), 3, true).error().message, HasSubstr("--resume"));
}

TEST(Checkpoints, OnesOwnAreNotPrunedForLaterDamagedOnes) {
  const auto folder = TemporaryDirectory::create("checkpoints");
  for (const std::uint64_t step : {70U, 80U, 90U}) {
    ASSERT_TRUE(save_checkpoint(folder->path(), example(step), 3).ok());
    fs::resize_file(folder->path() / ("checkpoint-0000000000" + std::to_string(step) + ".rck"), 10);
  }
  for (std::uint64_t step = 1; step <= 5; ++step) {
    ASSERT_TRUE(save_checkpoint(folder->path(), example(step), 3).ok());
  }
  EXPECT_EQ((*load_checkpoint(folder->path()).value()).next_step, 5U);
}

/// Saves step after step and writes the number of each durable one to `report`.
[[noreturn]] void save_for_ever(const fs::path& folder, int report) {
  for (std::uint64_t step = 1;; ++step) {
    if (!save_checkpoint(folder, example(step, 20'000), 2).ok() || ::write(report, &step, sizeof step) < 0) {
      ::_exit(1);
    }
  }
}

TEST(Checkpoints, AKillAtAnyPointLosesNothingDurable) {
  std::mt19937 random(1);
  const auto folder = TemporaryDirectory::create("checkpoints");
  std::uint64_t durable = 0;
  for (int kill = 0; kill < 60; ++kill) {
    const fs::path path = folder->path() / std::to_string(kill);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      save_for_ever(path, ends[1]);
    }
    ::close(ends[1]);
    // From the first durable one on, the kill comes at any point of later saves.
    ASSERT_EQ(::read(ends[0], &durable, sizeof durable), static_cast<ssize_t>(sizeof durable));
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 8000)(random));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    while (::read(ends[0], &durable, sizeof durable) == sizeof durable) {
    }
    ::close(ends[0]);
    const auto newest = load_checkpoint(path);
    ASSERT_TRUE(newest.ok()) << newest.error().message;
    ASSERT_TRUE(newest->has_value());
    EXPECT_GE((*newest)->next_step, durable);
    EXPECT_EQ(encode_checkpoint(**newest), encode_checkpoint(example((*newest)->next_step, 20'000)));
  }
  EXPECT_GT(durable, 0U);
}

TEST(LearningRate, FollowsItsSchedule) {
  LearningRate rate{.peak = 0.1, .schedule = "constant", .warmup_steps = 4, .total_steps = 14};
  EXPECT_DOUBLE_EQ(rate_at(rate, 1), 0.025);
  EXPECT_DOUBLE_EQ(rate_at(rate, 4), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(rate, 14), 0.1);
  rate.schedule = "linear";
  EXPECT_DOUBLE_EQ(rate_at(rate, 5), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(rate, 10), 0.05);
  EXPECT_NEAR(rate_at(rate, 14), 0.01, 1e-12);
  rate.schedule = "cosine";
  EXPECT_DOUBLE_EQ(rate_at(rate, 5), 0.1);
  EXPECT_NEAR(rate_at(rate, 10), 0.05, 1e-12);
  EXPECT_GT(rate_at(rate, 14), 0);
  EXPECT_LT(rate_at(rate, 14), 0.005);
  for (const std::string& name : learning_rate_schedules()) {
    const LearningRate all_warm{.peak = 1, .schedule = name, .warmup_steps = 10, .total_steps = 10};
    EXPECT_DOUBLE_EQ(rate_at(all_warm, 10), 1);
    EXPECT_GT(rate_at({.peak = 1, .schedule = name, .total_steps = 1}, 1), 0);
  }
}

}  // namespace
}  // namespace rudder::train

// SPDX-License-Identifier: Apache-2.0
// Whole trainings that take a moment, all ranks as threads of the test.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "rudder/train/trainer.h"

namespace rudder::train::testing_support {

inline TrainOptions small_run(const std::filesystem::path& partition) {
  TrainOptions options;
  options.partition = partition;
  options.hidden = 16;
  options.fanout = {5, 5};
  options.batch = 40;
  options.epochs = 3;
  options.learning_rate = 0.01;
  options.transport = "loopback";
  options.evaluate = false;
  return options;
}

inline TrainResult train_all(const TrainOptions& options, Rank world) {
  auto result = train(options, {.world = world, .host = "here"}, {}, nullptr);
  if (!result.ok()) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return std::move(result).value();
}

inline Error error_of(const TrainOptions& options, const RankInfo& who) {
  auto result = train(options, who, {}, nullptr);
  EXPECT_FALSE(result.ok());
  return result.ok() ? Error{} : result.error();
}

/// A run that is asked to stop when an epoch is done.
inline TrainResult interrupted(const TrainOptions& options, Rank world, std::uint32_t after_epoch) {
  std::atomic<bool> stop = false;
  const auto listener = [&](const EpochResult& epoch) { stop = epoch.epoch == after_epoch; };
  auto result = train(options, {.world = world, .host = "here"}, listener, &stop);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(result).value() : TrainResult{};
}

}  // namespace rudder::train::testing_support

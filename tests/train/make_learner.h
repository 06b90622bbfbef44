// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "train/learner.h"

namespace rudder::train::testing_support {

/// A learner whose options are right.
inline std::unique_ptr<Learner> make_learner(const LearnerOptions& options) {
  auto learner = Learner::create(options);
  EXPECT_TRUE(learner.ok()) << learner.error().message;
  return std::move(learner).value();
}

}  // namespace rudder::train::testing_support

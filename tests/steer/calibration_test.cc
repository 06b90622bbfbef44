// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/calibration.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::steer {
namespace {

double log_odds(double p) {
  return std::log(p / (1 - p));
}
double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

/// A model whose confidence c is right with a chance of logistic(slope * log_odds(c) + offset).
struct Miscalibrated {
  double slope, offset;
  [[nodiscard]] double truth(double confidence) const {
    return logistic(slope * log_odds(confidence) + offset);
  }
};

/// Expected calibration error against the known truth, over confidences from .05 to .95.
template <class Told>
double error_of(const Miscalibrated& model, Told told) {
  double sum = 0;
  int count = 0;
  for (double c = 0.05; c < 0.955; c += 0.01) {
    sum += std::abs(told(c) - model.truth(c));
    ++count;
  }
  return sum / count;
}

Calibration taught(const Miscalibrated& model, std::size_t decisions, std::uint64_t seed) {
  Calibration calibration;
  CounterRng rng({seed, 9});
  for (std::size_t i = 0; i < decisions; ++i) {
    const double confidence = 0.02 + 0.96 * rng.unit();
    calibration.add(confidence, rng.unit() < model.truth(confidence));
  }
  return calibration;
}

TEST(Calibration, KnowsNothingAtFirst) {
  const Calibration calibration;
  for (const double c : {0.0, 0.2, 0.999, 1.0}) {
    EXPECT_EQ(calibration.calibrated(c), c);
  }
}

TEST(Calibration, ErrorOfKnownMiscalibrationFalls) {
  for (const Miscalibrated model :
       {Miscalibrated{0.3, -0.4}, Miscalibrated{2.5, 0.8}, Miscalibrated{1, -1.5}}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const double before = error_of(model, [](double c) { return c; });
      const Calibration few = taught(model, 60, seed);
      const Calibration many = taught(model, 512, seed);
      EXPECT_LT(error_of(model, [&](double c) { return few.calibrated(c); }), 0.8 * before);
      const double after = error_of(model, [&](double c) { return many.calibrated(c); });
      EXPECT_LT(after, 0.4 * before) << "slope " << model.slope << ", seed " << seed;
      EXPECT_LT(after, 0.06);
    }
  }
}

TEST(Calibration, LeavesACalibratedModelAlone) {
  const Miscalibrated model = {1, 0};
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Calibration calibration = taught(model, 512, seed);
    EXPECT_LT(error_of(model, [&](double c) { return calibration.calibrated(c); }), 0.06);
  }
}

TEST(Calibration, OneOutcomeMovesItLittle) {
  Calibration calibration;
  calibration.add(0.9, false);
  EXPECT_LT(calibration.calibrated(0.9), 0.9);
  EXPECT_GT(calibration.calibrated(0.9), 0.6);
}

TEST(Calibration, IsMonotoneEvenForModelsThatAreWrongWhenSure) {
  const Calibration contrary = taught({-3, 0}, 512, 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CounterRng rng({seed, 10});
    const Calibration calibration = taught({6 * rng.unit() - 3, 4 * rng.unit() - 2}, rng.below(200), seed);
    for (const Calibration& each : {calibration, contrary}) {
      double last = 0;
      for (double c = 0; c <= 1; c += 0.01) {
        const double told = each.calibrated(c);
        EXPECT_GE(told, last - 1e-12);
        EXPECT_LE(told, 1);
        last = told;
      }
    }
  }
  EXPECT_NEAR(contrary.calibrated(0.05), contrary.calibrated(0.95), 1e-9)
      << "confidence is worth nothing here";
}

TEST(Calibration, IsTheLeastOfItsLoss) {
  // Against a search over a grid, on a few outcomes.
  const std::vector<std::pair<double, bool>> outcomes = {
      {0.9, true}, {0.8, false}, {0.7, true}, {0.6, false}, {0.95, false}};
  Calibration::Options options;
  options.prior = 1;
  Calibration calibration(options);
  for (const auto& [confidence, right] : outcomes) {
    calibration.add(confidence, right);
  }
  const auto loss = [&](double slope, double offset) {
    double sum = 0.5 * ((slope - 1) * (slope - 1) + offset * offset);
    for (const auto& [confidence, right] : outcomes) {
      const double p = logistic(slope * log_odds(confidence) + offset);
      sum -= std::log(right ? p : 1 - p);
    }
    return sum;
  };
  double best_slope = 0, best_offset = 0;
  for (double slope = 0; slope < 2; slope += 0.005) {
    for (double offset = -2; offset < 2; offset += 0.005) {
      if (loss(slope, offset) < loss(best_slope, best_offset)) {
        best_slope = slope;
        best_offset = offset;
      }
    }
  }
  for (const double c : {0.1, 0.5, 0.9}) {
    EXPECT_NEAR(calibration.calibrated(c), logistic(best_slope * log_odds(c) + best_offset), 2e-3);
  }
}

TEST(Calibration, FollowsAModelThatChanges) {
  Calibration::Options options;
  options.keep = 64;
  Calibration calibration(options);
  for (int i = 0; i < 200; ++i) {
    calibration.add(0.8, false);
  }
  EXPECT_LT(calibration.calibrated(0.8), 0.2);
  for (int i = 0; i < 64; ++i) {
    calibration.add(0.8, true);
  }
  EXPECT_GT(calibration.calibrated(0.8), 0.9);
  EXPECT_EQ(calibration.size(), 64U);
}

TEST(Calibration, BearsConfidencesOfAnyKind) {
  Calibration calibration;
  for (const double odd : {0.0, 1.0, -5.0, 7.0, std::nan(""), HUGE_VAL}) {
    calibration.add(odd, true);
    const double told = calibration.calibrated(odd);
    EXPECT_GE(told, 0);
    EXPECT_LE(told, 1);
  }
}

}  // namespace
}  // namespace rudder::steer

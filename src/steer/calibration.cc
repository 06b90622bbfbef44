// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/calibration.h"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.h"

namespace rudder::steer {
namespace {

/// Confidences nearer to 0 and 1 are taken for these: one reply must not weigh without bound.
constexpr double kLeast = 1e-3;
constexpr int kMaxSteps = 50;
constexpr int kMaxHalvings = 30;
constexpr double kConverged = 1e-9;

double log_odds(double confidence) noexcept {
  const double bounded = confidence > kLeast ? std::min(confidence, 1 - kLeast) : kLeast;
  return std::log(bounded / (1 - bounded));
}

double logistic(double x) noexcept {
  return 1 / (1 + std::exp(-x));
}

/// log(1 + exp(x)) without overflow.
double soft_plus(double x) noexcept {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

Calibration::Calibration(const Options& options) : options_(options) {
  RUDDER_CHECK(options.keep > 0 && options.prior > 0, "a calibration keeps outcomes and has a prior");
}

void Calibration::add(double confidence, bool right) {
  outcomes_.push_back({log_odds(confidence), right});
  if (outcomes_.size() > options_.keep) {
    outcomes_.pop_front();
  }
  // A slope below 0 would not be monotone. The loss is convex, so the best one allowed then is 0.
  line_ = minimum(line_, false);
  if (line_.slope < 0) {
    line_ = minimum({0, line_.offset}, true);
  }
}

double Calibration::calibrated(double confidence) const noexcept {
  return outcomes_.empty() ? confidence : logistic(line_.slope * log_odds(confidence) + line_.offset);
}

/// Negative log posterior.
double Calibration::loss(const Line& line) const {
  double sum = 0.5 * options_.prior * ((line.slope - 1) * (line.slope - 1) + line.offset * line.offset);
  for (const Outcome& outcome : outcomes_) {
    const double z = line.slope * outcome.log_odds + line.offset;
    sum += soft_plus(outcome.right ? -z : z);
  }
  return sum;
}

/// Newton's step; `level`: the slope stays.
Calibration::Line Calibration::step(const Line& line, bool level) const {
  double slope_gradient = options_.prior * (line.slope - 1), offset_gradient = options_.prior * line.offset;
  double slope_curve = options_.prior, offset_curve = options_.prior, mixed = 0;
  for (const Outcome& outcome : outcomes_) {
    const double p = logistic(line.slope * outcome.log_odds + line.offset);
    const double residual = p - (outcome.right ? 1 : 0);
    const double weight = p * (1 - p);
    slope_gradient += residual * outcome.log_odds;
    offset_gradient += residual;
    slope_curve += weight * outcome.log_odds * outcome.log_odds;
    offset_curve += weight;
    mixed += weight * outcome.log_odds;
  }
  if (level) {
    slope_gradient = 0;
    mixed = 0;
  }
  const double determinant = slope_curve * offset_curve - mixed * mixed;
  return {(mixed * offset_gradient - offset_curve * slope_gradient) / determinant,
          (mixed * slope_gradient - slope_curve * offset_gradient) / determinant};
}

/// Newton's method; steps that do not lessen the loss are halved.
Calibration::Line Calibration::minimum(Line from, bool level) const {
  double now = loss(from);
  for (int i = 0; i < kMaxSteps; ++i) {
    Line by = step(from, level);
    Line next = {from.slope + by.slope, from.offset + by.offset};
    double then = loss(next);
    for (int halving = 0; then > now && halving < kMaxHalvings; ++halving) {
      by = {by.slope / 2, by.offset / 2};
      next = {from.slope + by.slope, from.offset + by.offset};
      then = loss(next);
    }
    if (!(now - then > kConverged)) {
      break;
    }
    from = next;
    now = then;
  }
  return from;
}

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/text.h"
#include "rudder/steer/guard.h"

namespace rudder::steer {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"windows", "time", "shift"};
constexpr std::array<Metric, 3> kWatched = {kHitRate, kStallShare, kFreshShare};

Error out_of_range(std::string_view what, double value, std::string_view range) {
  return {Errc::kInvalidArgument, fmt::format("trigger: {} {} is not {}", what, value, range)};
}

}  // namespace

// E. S. Page, "Continuous inspection schemes" (1954), in D. Hinkley's form: sums of deviations from the mean
// so far, less a slack, against their extremes.
bool PageHinkley::add(double value) noexcept {
  if (!std::isfinite(value)) {
    return false;
  }
  ++count_;
  mean_ += (value - mean_) / static_cast<double>(count_);
  up_ += value - mean_ - slack_;
  up_least_ = std::min(up_least_, up_);
  down_ += value - mean_ + slack_;
  down_most_ = std::max(down_most_, down_);
  if (up_ - up_least_ > threshold_ || down_most_ - down_ > threshold_) {
    *this = PageHinkley(slack_, threshold_);
    return true;
  }
  return false;
}

Status check(const TriggerOptions& options) {
  if (std::find(kKinds.begin(), kKinds.end(), options.by) == kKinds.end()) {
    const std::string near = nearest_name(options.by, kKinds);
    return Error{Errc::kInvalidArgument,
                 fmt::format("trigger: unknown kind '{}' ({})", one_line(options.by, 60),
                             near.empty() ? "known: windows, time, shift" : "did you mean '" + near + "'?")};
  }
  if (options.every < 1) {
    return out_of_range("every", options.every, "a number of windows from 1");
  }
  if (options.period <= Duration::zero()) {
    return out_of_range("period", to_seconds(options.period), "a positive time in seconds");
  }
  if (!(options.slack >= 0) || !std::isfinite(options.slack)) {
    return out_of_range("slack", options.slack, "a finite number from 0");
  }
  if (!(options.threshold > 0) || !std::isfinite(options.threshold)) {
    return out_of_range("threshold", options.threshold, "a finite number above 0");
  }
  return {};
}

Trigger::Trigger(const TriggerOptions& options) : options_(options) {
  RUDDER_CHECK(check(options).ok(), "a trigger's options must be checked before");
  restart();
}

void Trigger::restart() {
  detectors_.assign(kWatched.size(), PageHinkley(options_.slack, options_.threshold));
}

bool Trigger::shifted(const Window& window) {
  bool any = false;
  for (std::size_t i = 0; i < kWatched.size(); ++i) {
    any |= detectors_[i].add(metric_table()[kWatched[i]].value(window));
  }
  if (any) {
    restart();
  }
  return any;
}

bool Trigger::fires(const Window& window, TimePoint now) {
  ++windows_;
  if (options_.by == "shift") {
    return shifted(window);
  }
  if (options_.by == "windows") {
    return windows_ % options_.every == 0;
  }
  if (last_ && now - *last_ < options_.period) {
    return false;
  }
  last_ = now;
  return true;
}

}  // namespace rudder::steer

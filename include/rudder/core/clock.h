// SPDX-License-Identifier: Apache-2.0
// Time is injected, so that waits, shapers and breakers can be tested without sleeping.
#pragma once

#include <chrono>

namespace rudder {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// A monotonic clock. Thread-safe.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint now() const = 0;
  virtual void sleep_until(TimePoint when) = 0;
};

/// The process-wide steady clock.
[[nodiscard]] Clock& steady_clock();

/// Advances only when told or slept on. Not thread-safe.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void sleep_until(TimePoint when) override {
    if (when > now_) {
      now_ = when;
    }
  }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{};
};

[[nodiscard]] inline double to_seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}
[[nodiscard]] inline Duration from_seconds(double s) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

/// A point in time by which a wait must have ended.
class Deadline {
 public:
  explicit Deadline(TimePoint at) : at_(at) {}
  [[nodiscard]] static Deadline in(Duration d) { return Deadline(steady_clock().now() + d); }
  [[nodiscard]] TimePoint at() const { return at_; }
  [[nodiscard]] bool passed() const { return steady_clock().now() >= at_; }

 private:
  TimePoint at_;
};

}  // namespace rudder

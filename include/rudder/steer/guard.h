// SPDX-License-Identifier: Apache-2.0
// What stands between a decider and the run: when to ask, what to let through, when to stop asking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/steer/action.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

/// Why a decision was not applied, or a decider not asked. Names are those of decisions.jsonl.
enum class Verdict : std::uint8_t {
  kApplied,
  kUnchanged,      ///< the action that holds already
  kNoTrigger,      ///< nothing called for a decision
  kStale,          ///< made on a window too long ago
  kUnknownAction,  ///< not in the set
  kCoolingDown,    ///< too soon after the last change
  kLowConfidence,
  kNegativeBenefit,  ///< counterfactual replay says that it would cost more than the fallback
  kBreakerOpen,      ///< the decider failed too often; the fallback holds
  kNoAnswer,         ///< error or timeout
  kInvalidReply,
};
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;

/// Page-Hinkley test for a shift of a figure's mean, both ways. O(1) a value.
class PageHinkley {
 public:
  /// `slack`: change of the mean that doesn't count; `threshold`: sum of deviations that is a shift.
  PageHinkley(double slack, double threshold) : slack_(slack), threshold_(threshold) {}
  /// True when a shift is found; starts anew then.
  bool add(double value) noexcept;

 private:
  double slack_, threshold_;
  std::uint64_t count_ = 0;
  double mean_ = 0, up_ = 0, up_least_ = 0, down_ = 0, down_most_ = 0;
};

struct TriggerOptions {
  std::string by = "windows";            ///< windows, time, shift
  std::uint32_t every = 1;               ///< windows between questions
  Duration period = from_seconds(1);     ///< time: between questions
  double slack = 0.01, threshold = 0.1;  ///< shift: Page-Hinkley on hit rate, stall share and fresh share
};

/// Says when to ask.
class Trigger {
 public:
  explicit Trigger(const TriggerOptions& options);
  /// One call a window, in order.
  [[nodiscard]] bool fires(const Window& window, TimePoint now);

 private:
  TriggerOptions options_;
  std::vector<PageHinkley> detectors_;
  std::uint64_t windows_ = 0;
  std::optional<TimePoint> last_;
};

/// Answers of before for windows that look the same. Bounded, oldest out first. O(size) a look-up.
class DecisionCache {
 public:
  /// `threshold`: least similarity(); `expiry`: windows that an entry lives; size 0: off.
  DecisionCache(double threshold, std::uint64_t expiry, std::size_t size);
  [[nodiscard]] const Decision* find(const Features& features, std::uint64_t sequence) const;
  void put(const Features& features, const Decision& decision);
  void clear();
  [[nodiscard]] std::uint64_t saved() const noexcept { return saved_; }

 private:
  struct Entry {
    Features features;
    Decision decision;
  };
  double threshold_;
  std::uint64_t expiry_;
  std::size_t size_;
  std::deque<Entry> entries_;
  mutable std::uint64_t saved_ = 0;
};

/// Circuit breaker: closed; open after `failures` in a row or `dropped` decisions of negative benefit in a
/// row; after `rest` half open: one question is let through, whose success closes it and whose failure opens
/// it for twice as long, at most 16 times `rest`.
class Breaker {
 public:
  struct Options {
    std::uint32_t failures = 3;
    std::uint32_t dropped = 8;
    Duration rest = from_seconds(5);
  };
  enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };
  explicit Breaker(const Options& options) : options_(options) {}
  /// Whether the decider may be asked now.
  [[nodiscard]] bool lets_through(TimePoint now);
  void succeeded();
  void failed(TimePoint now);
  void was_dropped(TimePoint now);
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] std::uint64_t openings() const noexcept { return openings_; }

 private:
  void open(TimePoint now);
  Options options_;
  State state_ = State::kClosed;
  std::uint32_t failures_ = 0, dropped_ = 0, rests_ = 1;
  TimePoint until_{};
  std::uint64_t openings_ = 0;
};

/// Expected benefit of actions by what counterfactual replay found lately: costs of each action, averaged
/// with weights that halve every `half_life` windows.
class Evaluator {
 public:
  Evaluator(const ActionSet& actions, double half_life);
  void learn(const LabelledWindow& labelled);
  /// Expected cost of the action relative to the least expensive one known, minus 1; 0 for that one. Nothing
  /// before the first window.
  [[nodiscard]] std::optional<double> excess(std::size_t action) const;
  /// The action of least expected cost: what to fall back to. The set's fallback before the first window.
  [[nodiscard]] std::size_t best() const;

 private:
  std::size_t fallback_;
  double keep_;  ///< weight of the past after one more window
  double weight_ = 0;
  std::vector<double> costs_;
};

struct GuardOptions {
  std::uint64_t stale_after = 4;  ///< windows
  double least_confidence = 0;
  double tolerated_excess = 0;  ///< of the evaluator, over the fallback's; negative: evaluator off
};

/// Whether a decision may be applied at a window's end.
[[nodiscard]] Verdict judge(const Decision& decision, const ActionSet& actions, std::uint64_t sequence_now,
                            std::size_t action_now, std::uint64_t windows_since_change,
                            const Evaluator& evaluator, const GuardOptions& options);

}  // namespace rudder::steer

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
  kPending,        ///< asked; the answer has not come yet
  kStale,          ///< made on a window too long ago
  kUnknownAction,  ///< not in the set
  kCoolingDown,    ///< too soon after the last change
  kLowConfidence,
  kNegativeBenefit,  ///< counterfactual replay says that it would cost more than the best action known
  kBreakerOpen,      ///< the decider failed too often; the fallback holds
  kNoAnswer,         ///< error or timeout
  kInvalidReply,
};
inline constexpr std::size_t kVerdicts = 12;
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;

/// Page-Hinkley test for a shift of a figure's mean, both ways. O(1) a value; values that aren't finite are
/// passed over.
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
  std::uint32_t every = 1;               ///< windows: between questions, the first after so many
  Duration period = from_seconds(1);     ///< time: between questions; the first window asks
  double slack = 0.01, threshold = 0.1;  ///< shift: Page-Hinkley on hit rate, stall share and fresh share
};
/// An error names the option that is out of range, or what `by` does not know.
[[nodiscard]] Status check(const TriggerOptions& options);

/// Says when to ask. A shift is told once: all detectors start anew with it.
class Trigger {
 public:
  /// check() must have passed.
  explicit Trigger(const TriggerOptions& options);
  /// One call a window, in order.
  [[nodiscard]] bool fires(const Window& window, TimePoint now);

 private:
  [[nodiscard]] bool shifted(const Window& window);
  void restart();

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
  /// The decision on the most similar window, the newest of equal ones, made at most `expiry` windows before
  /// `sequence`; null when none is similar enough. Valid until the next put() or clear().
  [[nodiscard]] const Decision* find(const Features& features, std::uint64_t sequence) const;
  void put(const Features& features, const Decision& decision);
  void clear();
  [[nodiscard]] std::uint64_t saved() const noexcept { return saved_; }  ///< look-ups that found something

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
/// it for twice as long, at most 16 times `rest`. What is heard while it is open changes nothing: only the
/// question let through counts. A decision of negative benefit is an answer, but no success.
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
  /// One cost an action. A window with costs that are not finite or are negative teaches nothing.
  void learn(const LabelledWindow& labelled);
  /// Expected cost of the action relative to the least expensive one known, minus 1; 0 for that one; infinite
  /// when that one costs nothing and this one something. Nothing before the first window.
  [[nodiscard]] std::optional<double> excess(std::size_t action) const;
  /// The action of least expected cost, the set's fallback among equals: what to fall back to. The set's
  /// fallback before the first window.
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
  double tolerated_excess =
      0.01;  ///< of an action's expected cost over the best one's; negative: evaluator off
};

/// Whether the evaluator speaks against an action: it costs more than the best one by more than is tolerated,
/// or it replaces and not to replace is within what is tolerated. What a replacement throws out may be missed
/// after the horizon of replay, so it has to pay within it: a setting can be taken back, a replacement
/// cannot. Never before the first window.
[[nodiscard]] bool is_harmful(std::size_t action, const ActionSet& actions, const Evaluator& evaluator,
                              const GuardOptions& options);
/// Whether a decision may be applied at a window's end. The first of these that holds: stale (or made on a
/// window that has not ended), invalid reply, unknown action, low confidence, negative benefit, unchanged,
/// cooling down; else applied. To replace once more is never "unchanged".
[[nodiscard]] Verdict judge(const Decision& decision, const ActionSet& actions, std::uint64_t sequence_now,
                            std::size_t action_now, std::uint64_t windows_since_change,
                            const Evaluator& evaluator, const GuardOptions& options);

}  // namespace rudder::steer

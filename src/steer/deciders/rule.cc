// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "rudder/core/check.h"

#include "steer/deciders/common.h"

namespace rudder::steer {
namespace {

double metric(const Window& window, Metric which) {
  return metric_table()[which].value(window);
}

/// Rows fetched a batch.
double traffic(const Window& window) {
  return static_cast<double>(window.counts.fetched) /
         static_cast<double>(std::max<StepId>(1, window.end - window.first));
}

/// Rules that the paper gives its agent: replace when nothing hits, when the hit rate
/// falls or is low, when traffic grows; don't when there are no candidates, when the last attempts changed
/// nothing, when the hit rate rises by itself, when little of the run is left.
class ReplaceRule final : public Decider {
 public:
  ReplaceRule(std::size_t skip, std::size_t replace) : skip_(skip), replace_(replace) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    if (!window.training) {
      return answer(window, false, "evaluation is not steered");
    }
    observe(window);
    Decision decision = judge(window);
    before_ = window;
    return decision;
  }

 private:
  static constexpr double kEnd = 0.05;         ///< share of the run that pays for no replacement
  static constexpr double kChange = 0.01;      ///< of the hit rate that counts
  static constexpr double kLow = 0.3;          ///< hit rate
  static constexpr double kGrowth = 1.05;      ///< of the traffic
  static constexpr unsigned kFutileInRow = 2;  ///< attempts

  /// Did the last replacement change anything? One that did not counts until the hit rate leaves where the
  /// futile attempts left it.
  void observe(const Window& window) {
    const double now = metric(window, kHitRate);
    if (window.action == replace_ && before_.has_value()) {
      futile_ = std::abs(now - metric(*before_, kHitRate)) < kChange ? futile_ + 1 : 0;
      settled_ = now;
    } else if (now < settled_ - kChange) {
      futile_ = 0;
    }
  }

  [[nodiscard]] Decision judge(const Window& window) const {
    const double now = metric(window, kHitRate);
    if (metric(window, kRemaining) < kEnd) {
      return answer(window, false, "the run is nearly over");
    }
    if (window.stale == 0) {
      return answer(window, false, "every row in the buffer is in use");
    }
    if (window.counts.requests > 0 && window.counts.hits == 0) {
      return answer(window, true, "nothing hits");
    }
    if (futile_ >= kFutileInRow) {
      return answer(window, false, "the last replacements changed nothing");
    }
    if (!before_.has_value()) {
      return answer(window, now < kLow, now < kLow ? "the hit rate is low" : "nothing calls for it");
    }
    if (window.action != replace_ && now > metric(*before_, kHitRate) + kChange) {
      return answer(window, false, "the hit rate rises by itself");
    }
    if (now < metric(*before_, kHitRate) - kChange) {
      return answer(window, true, "the hit rate falls");
    }
    if (now < kLow) {
      return answer(window, true, "the hit rate is low");
    }
    if (traffic(window) > kGrowth * traffic(*before_)) {
      return answer(window, true, "traffic grows");
    }
    return answer(window, false, "nothing calls for it");
  }

  [[nodiscard]] Decision answer(const Window& window, bool replace, std::string reason) const {
    Decision decision = decision_for(window, replace ? replace_ : skip_);
    decision.reason = std::move(reason);
    decision.expected = replace ? Expected{Direction::kIncrease, Direction::kDecrease} : Expected{};
    return decision;
  }

  std::size_t skip_, replace_;
  std::optional<Window> before_;
  unsigned futile_ = 0;  ///< replacements in a row that changed nothing
  double settled_ = 0;   ///< hit rate after the last replacement
};

/// What is asked of a knob.
enum class Turn : std::uint8_t { kFaster, kSlower, kDeeper, kRoomier };

/// One knob one step from where it stands; the others as they are.
///
/// | stall share | all-reduce share | first of these that the set has                     |
/// |-------------|------------------|-----------------------------------------------------|
/// | above 10 %  | above 25 %       | more memory for kept rows; fetch further ahead      |
/// | above 10 %  | else             | fetch ahead faster; further ahead; more kept rows   |
/// | below 3 %   | above 25 %       | fetch ahead slower, so that gradients pass          |
/// | else        |                  | nothing                                             |
class KnobRule final : public Decider {
 public:
  explicit KnobRule(const ActionSet& actions) : actions_(actions) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    RUDDER_CHECK(window.action < actions_.actions.size(), "a window of another action set");
    const double stall = metric(window, kStallShare);
    const bool crowded = metric(window, kAllReduceShare) > kCrowded;
    if (!window.training || (stall <= kStalls && !(stall < kFed && crowded))) {
      return answer(window, window.action, "nothing calls for a change");
    }
    if (stall < kFed) {
      return first_of(window, {Turn::kSlower}, "gradients wait for the link and batches do not");
    }
    return crowded ? first_of(window, {Turn::kRoomier, Turn::kDeeper}, "both batches and gradients wait")
                   : first_of(window, {Turn::kFaster, Turn::kDeeper, Turn::kRoomier}, "batches wait");
  }

 private:
  static constexpr double kStalls = 0.1;    ///< share of the time
  static constexpr double kFed = 0.03;      ///< share of the time
  static constexpr double kCrowded = 0.25;  ///< share of the time

  /// Limits of the rate in ascending order of speed: none is the fastest.
  static double speed(const Setting& setting) {
    return setting.prefetch_bytes_per_second > 0 ? setting.prefetch_bytes_per_second : HUGE_VAL;
  }
  static double knob(const Setting& setting, Turn turn) {
    switch (turn) {
      case Turn::kFaster:
        return speed(setting);
      case Turn::kSlower:
        return -speed(setting);
      case Turn::kDeeper:
        return setting.depth;
      case Turn::kRoomier:
        return setting.slot_share;
    }
    return 0;
  }
  /// `setting` with the knob of `turn` as `other` has it.
  static Setting turned(Setting setting, const Setting& other, Turn turn) {
    if (turn == Turn::kDeeper) {
      setting.depth = other.depth;
    } else if (turn == Turn::kRoomier) {
      setting.slot_share = other.slot_share;
    } else {
      setting.prefetch_bytes_per_second = other.prefetch_bytes_per_second;
    }
    return setting;
  }

  [[nodiscard]] std::optional<std::size_t> step(std::size_t from, Turn turn) const {
    const Setting& now = actions_.actions[from].setting;
    std::optional<std::size_t> next;
    for (std::size_t i = 0; i < actions_.actions.size(); ++i) {
      const Setting& setting = actions_.actions[i].setting;
      if (setting == turned(now, setting, turn) && knob(setting, turn) > knob(now, turn) &&
          (!next || knob(setting, turn) < knob(actions_.actions[*next].setting, turn))) {
        next = i;
      }
    }
    return next;
  }

  [[nodiscard]] Decision first_of(const Window& window, std::initializer_list<Turn> turns,
                                  std::string reason) const {
    for (const Turn turn : turns) {
      if (const std::optional<std::size_t> next = step(window.action, turn)) {
        return answer(window, *next, std::move(reason));
      }
    }
    return answer(window, window.action, std::move(reason) + ", but there is nothing left to turn");
  }

  static Decision answer(const Window& window, std::size_t action, std::string reason) {
    Decision decision = decision_for(window, action);
    decision.reason = std::move(reason);
    return decision;
  }

  const ActionSet& actions_;
};

}  // namespace

DeciderInfo rule_decider() {
  return {.name = "rule",
          .help = "fixed rules on hit rate and traffic, or on stall and all-reduce shares",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            if (context.actions->find("replace") == kMaxActions) {
              return std::unique_ptr<Decider>(std::make_unique<KnobRule>(*context.actions));
            }
            RUDDER_ASSIGN(const std::size_t skip, needed_action(context, "rule", "skip"));
            RUDDER_ASSIGN(const std::size_t replace, needed_action(context, "rule", "replace"));
            return std::unique_ptr<Decider>(std::make_unique<ReplaceRule>(skip, replace));
          }};
}

}  // namespace rudder::steer

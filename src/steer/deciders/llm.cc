// SPDX-License-Identifier: Apache-2.0
// A language model that is shown the nearest labelled windows of the memory.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/clock.h"
#include "rudder/steer/asking.h"
#include "rudder/steer/calibration.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/prompt.h"

namespace rudder::steer {
namespace {

/// Decisions whose window after has not been labelled yet; more than may be under way.
constexpr std::size_t kMaxPending = 16;
/// Windows after its own in which a decision is expected to hold; later it was dropped.
constexpr std::uint64_t kMaxWait = 4;
constexpr std::uint32_t kMaxDemonstrations = 64;

class LlmDecider final : public Decider {
 public:
  LlmDecider(const DeciderContext& context, const PromptOptions& prompt)
      : context_(context),
        clock_(context.clock == nullptr ? steady_clock() : *context.clock),
        asker_(*context.actions, *context.model, {prompt, context.seed, context.job}) {}

  Result<Decision> decide(const Window& window, const Report& report) override {
    const TimePoint begin = clock_.now();
    RUDDER_ASSIGN(const auto demonstrations, shown(features_of(window)));
    const std::vector<Episode> history(episodes_.begin(), episodes_.end());
    const Duration left = context_.model_timeout - (clock_.now() - begin);
    if (left <= Duration::zero()) {
      return Error{Errc::kTimeout,
                   fmt::format("model {}: not asked: the memory took all of the {} s for a decision",
                               context_.model->name(), to_seconds(context_.model_timeout))};
    }
    RUDDER_ASSIGN(const ModelAnswer answer, asker_.ask(demonstrations, history, report, left));
    Decision decision;
    decision.sequence = window.sequence;
    decision.from_model = true;
    if (answer.reply) {
      decision.action = answer.reply->action;
      decision.confidence = calibration_.calibrated(answer.confidence);
      decision.reason = answer.reply->reason;
      decision.expected = answer.reply->expected;
      remember({decision.sequence, decision.action, answer.confidence});
    } else {
      decision.action = actions().fallback;
      decision.confidence = 0;
      decision.reason = answer.refusal;
      decision.valid_reply = false;
    }
    return decision;
  }

  void learn(const LabelledWindow& labelled) override {
    const Window& window = labelled.window;
    for (Pending& pending : pending_) {
      if (window.sequence == pending.sequence + 1 && labelled.costs.size() == actions().actions.size()) {
        // Actions that cost the same are equally right.
        calibration_.add(pending.told, labelled.costs[pending.action] <= labelled.costs[labelled.best]);
      }
      const bool follows = previous_ && window.sequence == previous_->sequence + 1;
      if (follows && window.sequence > pending.sequence && window.action == pending.action && !pending.seen) {
        pending.seen = true;
        episodes_.push_back({actions().actions[pending.action].name, effect_of(*previous_, window)});
      }
    }
    while (episodes_.size() > kShownEpisodes) {
      episodes_.pop_front();
    }
    std::erase_if(pending_, [&](const Pending& pending) {
      return window.sequence > pending.sequence &&
             (pending.seen || window.sequence - pending.sequence > kMaxWait);
    });
    previous_ = window;
  }

 private:
  /// A decision whose effect has not been seen.
  struct Pending {
    std::uint64_t sequence;
    std::size_t action;
    double told;  ///< the confidence, before calibration
    bool seen = false;
  };

  [[nodiscard]] const ActionSet& actions() const { return *context_.actions; }

  [[nodiscard]] Result<std::vector<Experience>> shown(const Features& features) const {
    if (context_.memory == nullptr) {
      return std::vector<Experience>();
    }
    return demonstrations_for(*context_.memory, actions(), features, context_.demonstrations);
  }

  void remember(const Pending& pending) {
    pending_.push_back(pending);
    if (pending_.size() > kMaxPending) {
      pending_.pop_front();
    }
  }

  DeciderContext context_;
  const Clock& clock_;
  Asker asker_;
  Calibration calibration_;
  std::deque<Pending> pending_;
  std::deque<Episode> episodes_;
  std::optional<Window> previous_;
};

Result<std::unique_ptr<Decider>> make(const DeciderContext& context) {
  const auto invalid = [](const std::string& what) {
    return Error{Errc::kInvalidArgument, "decider 'llm': " + what};
  };
  if (context.demonstrations > kMaxDemonstrations) {
    return invalid(fmt::format("{} demonstrations; at most {} can be shown", context.demonstrations,
                               kMaxDemonstrations));
  }
  if (context.model_timeout <= Duration::zero()) {
    return invalid(
        fmt::format("a timeout of {} s leaves no time for an answer", to_seconds(context.model_timeout)));
  }
  PromptOptions prompt;
  prompt.language = context.language;
  prompt.reasoning = context.reasoning;
  const auto probe = make_prompt(*context.actions, {}, {}, {}, prompt);
  if (!probe.ok()) {
    return invalid(probe.error().message);
  }
  return std::unique_ptr<Decider>(std::make_unique<LlmDecider>(context, prompt));
}

}  // namespace

DeciderInfo llm_decider() {
  return {.name = "llm",
          .argument = "",
          .help = "a language model, shown the labelled windows that are most like the last one",
          .needs_model = true,
          .make = make};
}

}  // namespace rudder::steer

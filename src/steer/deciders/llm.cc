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
#include "rudder/steer/calibration.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/prompt.h"

namespace rudder::steer {
namespace {

constexpr std::size_t kEpisodes = 5;
/// Decisions whose window after has not been labelled yet; more than may be under way.
constexpr std::size_t kMaxPending = 16;
/// Windows after its own in which a decision is expected to hold; later it was dropped.
constexpr std::uint64_t kMaxWait = 4;
constexpr std::uint32_t kMaxDemonstrations = 64;
/// Experiences looked through for one with another action, for each demonstration.
constexpr std::size_t kLookedThrough = 4;

/// The k nearest. When all of them say the same, the nearest that says otherwise takes the farthest one's
/// place: an example of one action alone teaches a model to repeat it.
std::vector<Experience> choose(std::vector<Experience> nearest, std::size_t k, const ActionSet& actions) {
  std::erase_if(nearest, [&](const Experience& each) { return each.best >= actions.actions.size(); });
  if (nearest.size() <= k) {
    return nearest;
  }
  const auto end = nearest.begin() + static_cast<std::ptrdiff_t>(k);
  const auto other = std::find_if(nearest.begin(), nearest.end(),
                                  [&](const Experience& each) { return each.best != nearest.front().best; });
  if (k > 1 && other != nearest.end() && other >= end) {
    std::iter_swap(end - 1, other);
  }
  nearest.erase(end, nearest.end());
  return nearest;
}

class LlmDecider final : public Decider {
 public:
  LlmDecider(const DeciderContext& context, const PromptOptions& prompt)
      : context_(context),
        clock_(context.clock == nullptr ? steady_clock() : *context.clock),
        prompt_(prompt) {
    request_.grammar = reply_grammar(actions(), prompt);
    // A schema has no place for reasoning before the object: servers that hold to it would leave no room.
    request_.json_schema = prompt.reasoning ? "" : reply_schema(actions());
    request_.max_tokens = reply_tokens(actions(), prompt);
    request_.seed = context.seed;
    request_.job = context.job;
  }

  Result<Decision> decide(const Window& window, const Report& report) override {
    const TimePoint begin = clock_.now();
    const auto from = [&](const Error& error) { return error.in(fmt::format("model {}", model().name())); };
    RUDDER_ASSIGN(const auto demonstrations, demonstrations_for(features_of(window)));
    const std::vector<Episode> history(episodes_.begin(), episodes_.end());
    RUDDER_ASSIGN(request_.messages, make_prompt(actions(), demonstrations, history, report, prompt_));
    request_.timeout = context_.model_timeout - (clock_.now() - begin);
    if (request_.timeout <= Duration::zero()) {
      return from({Errc::kTimeout, fmt::format("not asked: the memory took all of the {} s for a decision",
                                               to_seconds(context_.model_timeout))});
    }
    const Result<llm::ChatReply> reply = model().complete(request_);
    if (!reply.ok()) {
      return from(reply.error());
    }
    Decision decision;
    decision.sequence = window.sequence;
    decision.from_model = true;
    const Result<ParsedReply> parsed = parse_reply(reply->text, actions());
    if (parsed.ok()) {
      const double told = confidence_of(*reply, actions(), parsed->action);
      decision.action = parsed->action;
      decision.confidence = calibration_.calibrated(told);
      decision.reason = parsed->reason;
      decision.expected = parsed->expected;
      remember({decision.sequence, decision.action, told});
    } else {
      decision.action = actions().fallback;
      decision.confidence = 0;
      decision.reason = from(parsed.error()).message;
      decision.valid_reply = false;
    }
    decision.seconds = to_seconds(clock_.now() - begin);
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
    while (episodes_.size() > kEpisodes) {
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
  [[nodiscard]] llm::Model& model() const { return *context_.model; }

  Result<std::vector<Experience>> demonstrations_for(const Features& features) const {
    const std::size_t k = context_.demonstrations;
    if (context_.memory == nullptr || k == 0) {
      return std::vector<Experience>();
    }
    RUDDER_ASSIGN(auto nearest, context_.memory->nearest(actions(), features, kLookedThrough * k));
    return choose(std::move(nearest), k, actions());
  }

  void remember(const Pending& pending) {
    pending_.push_back(pending);
    if (pending_.size() > kMaxPending) {
      pending_.pop_front();
    }
  }

  DeciderContext context_;
  const Clock& clock_;
  PromptOptions prompt_;
  llm::ChatRequest request_;
  Calibration calibration_;
  std::deque<Pending> pending_;
  std::deque<Episode> episodes_;
  std::optional<Window> previous_;
};

Result<std::unique_ptr<Decider>> make(const DeciderContext& context) {
  const auto invalid = [](std::string what) { return Error{Errc::kInvalidArgument, "decider llm: " + what}; };
  if (context.model == nullptr) {
    return invalid("there is no model to ask");
  }
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

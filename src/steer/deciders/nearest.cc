// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/steer/memory.h"
#include "rudder/steer/vote.h"

#include "steer/deciders/common.h"

namespace rudder::steer {
namespace {

/// Vote of the most similar remembered windows, as many as a model is shown.
class Nearest final : public Decider {
 public:
  explicit Nearest(const DeciderContext& context)
      : actions_(*context.actions),
        memory_(*context.memory),
        count_(std::max<std::size_t>(1, context.demonstrations)) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    const Features features = features_of(window);
    RUDDER_ASSIGN(const std::vector<Experience> near, memory_.nearest(actions_, features, count_));
    const Vote vote = vote_of(near, features, actions_);
    Decision decision = decision_for(window, vote.action);
    decision.confidence = vote.confidence;
    const bool similar = std::any_of(near.begin(), near.end(), [&](const Experience& each) {
      return similarity(each.features, features) > 0;
    });
    decision.reason = near.empty() ? "no window is remembered"
                      : !similar   ? "no remembered window is similar"
                                   : fmt::format("least costly in the {} most similar windows", near.size());
    return decision;
  }

 private:
  const ActionSet& actions_;
  const Memory& memory_;
  std::size_t count_;
};

}  // namespace

DeciderInfo nearest_decider() {
  return {.name = "nearest",
          .help = "vote of the most similar windows of the memory",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            if (context.memory == nullptr) {
              return Error{Errc::kInvalidArgument, "decider 'nearest' needs a memory"};
            }
            return std::unique_ptr<Decider>(std::make_unique<Nearest>(context));
          }};
}

}  // namespace rudder::steer

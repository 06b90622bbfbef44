// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/steer/memory.h"

#include "steer/deciders/common.h"

namespace rudder::steer {
namespace {

/// Vote of the most similar remembered windows, as many as a model is shown: an action's price is the mean of
/// what it cost in them above their least cost, relative to that, weighted by similarity.
class Nearest final : public Decider {
 public:
  explicit Nearest(const DeciderContext& context)
      : actions_(*context.actions),
        memory_(*context.memory),
        count_(std::max<std::size_t>(1, context.demonstrations)) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    const Features features = features_of(window);
    RUDDER_ASSIGN(const std::vector<Experience> near, memory_.nearest(actions_, features, count_));
    Decision decision = decision_for(window, actions_.fallback);
    std::vector<double> prices(actions_.actions.size());
    double total = 0;
    double agreeing = 0;
    for (const Experience& each : near) {
      const double weight = weight_of(each, features);
      const double least = each.costs[each.best];
      total += weight;
      for (std::size_t i = 0; i < prices.size(); ++i) {
        prices[i] += least > 0 ? weight * (each.costs[i] / least - 1) : 0;
      }
    }
    if (!(total > 0)) {
      decision.confidence = 0;
      decision.reason = near.empty() ? "no window is remembered" : "no remembered window is similar";
      return decision;
    }
    // The fallback among equals, else the first.
    const auto least = std::min_element(prices.begin(), prices.end());
    if (prices[actions_.fallback] > *least) {
      decision.action = static_cast<std::size_t>(least - prices.begin());
    }
    for (const Experience& each : near) {
      agreeing += each.best == decision.action ? weight_of(each, features) : 0;
    }
    decision.confidence = agreeing / total;
    decision.reason = fmt::format("least costly in the {} most similar windows", near.size());
    return decision;
  }

 private:
  static double weight_of(const Experience& experience, const Features& features) {
    return std::max(0.0, similarity(experience.features, features));
  }

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

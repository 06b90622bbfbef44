// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "rudder/core/check.h"
#include "rudder/core/rng.h"

#include "steer/deciders/common.h"
#include "steer/deciders/fixed_share.h"

namespace rudder::steer {
namespace {

constexpr std::uint64_t kStream = 0x6865'6467;  ///< of random numbers
/// Windows for which an action is taken to stay best: phases of a run are some tens of windows long.
constexpr double kPhase = 32;
/// What is left of the scale of losses after a window.
constexpr double kKeepScale = 0.99;

/// Expert weights over the actions, with full information: counterfactual replay says what each would have
/// cost. An action is drawn by weight; drawing is what the bound on the regret needs.
///
/// A window's loss of an action is its cost above the window's least, as a share of the largest spread
/// between two actions lately: so windows in which actions differ little move the weights little.
class Hedge final : public Decider {
 public:
  Hedge(const ActionSet& actions, std::uint64_t seed)
      : seed_(seed),
        experts_(actions.actions.size(), FixedShare::for_phase(actions.actions.size(), kPhase)) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    CounterRng rng({seed_, kStream, window.sequence});
    const std::span<const double> weights = experts_.weights();
    double left = rng.unit();
    std::size_t action = 0;
    while (action + 1 < weights.size() && left >= weights[action]) {
      left -= weights[action++];
    }
    Decision decision = decision_for(window, action);
    decision.confidence = weights[action];
    return decision;
  }

  void learn(const LabelledWindow& labelled) override {
    RUDDER_CHECK(labelled.costs.size() == experts_.weights().size(), "a window of another action set");
    const auto [least, most] = std::minmax_element(labelled.costs.begin(), labelled.costs.end());
    scale_ = std::max(kKeepScale * scale_, *most - *least);
    if (!(scale_ > 0)) {
      return;  // no action has ever differed from another
    }
    std::vector<double> losses;
    for (const double cost : labelled.costs) {
      losses.push_back((cost - *least) / scale_);
    }
    experts_.learn(losses);
  }

 private:
  std::uint64_t seed_;
  FixedShare experts_;
  double scale_ = 0;  ///< seconds
};

}  // namespace

DeciderInfo hedge_decider() {
  return {.name = "hedge",
          .help = "expert weights that hear what every action would have cost",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            return std::unique_ptr<Decider>(std::make_unique<Hedge>(*context.actions, context.seed));
          }};
}

}  // namespace rudder::steer

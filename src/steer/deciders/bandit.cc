// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "rudder/core/check.h"
#include "rudder/core/rng.h"

#include "steer/deciders/common.h"

namespace rudder::steer {
namespace {

constexpr std::uint64_t kStream = 0x6261'6e64;  ///< of random numbers

/// A standard normal number (Box and Muller).
double normal(CounterRng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.unit()));
  return radius * std::cos(2 * std::numbers::pi * rng.unit());
}

/// Thompson sampling with Gaussian posteriors whose past fades, so that what has changed is tried again
/// (Qi, Wang and Zhu, "Discounted Thompson Sampling for Non-Stationary Bandit Problems", 2023). It hears the
/// cost of the action that held, and of no other.
///
/// Theirs has rewards within 0..1 and a variance of 1 / weight. Costs have no such scale: here the variance
/// is that of all costs heard lately over the weight, and each action starts from their mean with a small
/// weight, so that actions never heard of, or not for long, are uncertain but not preferred for ever by a
/// guard that lets none of them through.
class Bandit final : public Decider {
 public:
  Bandit(const ActionSet& actions, std::uint64_t seed)
      : seed_(seed), fallback_(actions.fallback), arms_(actions.actions.size()) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    CounterRng rng({seed_, kStream, window.sequence});
    if (all_.weight == 0) {
      return decision_for(window, fallback_);
    }
    const double deviation = scale();
    std::size_t chosen = fallback_;
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      const double weight = arms_[i].weight + kPrior;
      const double mean = (arms_[i].sum + kPrior * all_.mean()) / weight;
      const double cost = mean + deviation / std::sqrt(weight) * normal(rng);
      if (cost < least) {
        least = cost;
        chosen = i;
      }
    }
    return decision_for(window, chosen);
  }

  void learn(const LabelledWindow& labelled) override {
    const std::size_t action = labelled.window.action;
    RUDDER_CHECK(action < arms_.size() && labelled.costs.size() == arms_.size(),
                 "a window of another action set");
    for (Heard& arm : arms_) {
      arm.fade(kKeep);
    }
    all_.fade(kKeepScale);
    arms_[action].add(labelled.costs[action]);
    all_.add(labelled.costs[action]);
  }

 private:
  static constexpr double kKeep = 0.98;         ///< of what an action is known to cost, by window
  static constexpr double kKeepScale = 0.995;   ///< of how much costs vary: slower, or nothing is tried again
  static constexpr double kPrior = 0.1;         ///< weight, in windows
  static constexpr double kLeastSpread = 0.01;  ///< deviation taken at least, of the mean cost

  /// Faded sums.
  struct Heard {
    double weight = 0, sum = 0, squares = 0;

    void fade(double keep) {
      weight *= keep;
      sum *= keep;
      squares *= keep;
    }
    void add(double cost) {
      weight += 1;
      sum += cost;
      squares += cost * cost;
    }
    [[nodiscard]] double mean() const { return sum / weight; }
  };

  [[nodiscard]] double scale() const {
    const double mean = all_.mean();
    const double variance = std::max(0.0, all_.squares / all_.weight - mean * mean);
    return std::max(std::sqrt(variance), kLeastSpread * std::abs(mean));
  }

  std::uint64_t seed_;
  std::size_t fallback_;
  std::vector<Heard> arms_;
  Heard all_;
};

}  // namespace

DeciderInfo bandit_decider() {
  return {.name = "bandit",
          .help = "Thompson sampling that learns the cost of the action taken alone",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            return std::unique_ptr<Decider>(std::make_unique<Bandit>(*context.actions, context.seed));
          }};
}

}  // namespace rudder::steer

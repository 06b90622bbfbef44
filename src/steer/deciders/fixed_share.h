// SPDX-License-Identifier: Apache-2.0
// Expert weights that track the best action as it changes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rudder::steer {

/// The fixed-share forecaster (Herbster and Warmuth, "Tracking the Best Expert", Machine Learning 32, 1998;
/// here as in Cesa-Bianchi and Lugosi, "Prediction, Learning, and Games", 2006, section 5.2): weights shrink
/// by exp(-rate x loss), then all give up `share` of their sum, which is handed out evenly. For losses within
/// 0..1 and every sequence of actions with m changes over T rounds, the expected loss of drawing by weight
/// exceeds that sequence's by at most (theorem 5.2)
///   ((m + 1) ln K - ln(share^m (1 - share)^(T - m - 1))) / rate + rate T / 8.
class FixedShare {
 public:
  struct Options {
    double rate = 0;
    double share = 0;
  };
  /// What makes the bound least (corollary 5.1) for actions that stay best for `phase` rounds on average:
  /// share = 1 / phase, rate = sqrt(8 (ln K + phase H(1 / phase)) / phase) with the binary entropy H in nats.
  [[nodiscard]] static Options for_phase(std::size_t actions, double phase);

  FixedShare(std::size_t actions, const Options& options);
  /// Sum to 1.
  [[nodiscard]] std::span<const double> weights() const noexcept { return weights_; }
  /// One loss an action, within 0..1. O(actions).
  void learn(std::span<const double> losses);

 private:
  Options options_;
  std::vector<double> weights_;
};

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// What a model's confidence is worth: how often it was right when it was that sure.
#pragma once

#include <cstddef>
#include <deque>

namespace rudder::steer {

/// Platt scaling: the chance to be right is a logistic function of the confidence's log-odds, fitted to what
/// came of the newest decisions (maximum a posteriori, with the identity as the prior's mode; Platt 1999).
/// Monotone: more confidence never calibrates to less. Not thread-safe.
class Calibration {
 public:
  struct Options {
    std::size_t keep = 512;  ///< decisions looked at, at least 1
    double prior = 4;        ///< weight of the identity, in decisions or so; above 0
  };
  Calibration() : Calibration(Options{}) {}
  explicit Calibration(const Options& options);

  /// A decision of that confidence was the best action, or was not. O(keep).
  void add(double confidence, bool right);
  /// Within (0, 1), or as given before the first decision. O(1).
  [[nodiscard]] double calibrated(double confidence) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return outcomes_.size(); }

 private:
  struct Outcome {
    double log_odds;
    bool right;
  };
  struct Line {
    double slope = 1, offset = 0;  ///< of the log-odds
  };
  [[nodiscard]] double loss(const Line& line) const;
  [[nodiscard]] Line step(const Line& line, bool level) const;
  [[nodiscard]] Line minimum(Line from, bool level) const;

  Options options_;
  std::deque<Outcome> outcomes_;
  Line line_;
};

}  // namespace rudder::steer

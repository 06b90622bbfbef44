// SPDX-License-Identifier: Apache-2.0
// Classifiers trained on remembered windows: which action is the best one for a window that looks like this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/learn/model.h"
#include "rudder/steer/action.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

struct ClassifierOptions {
  std::string kind = "xgb";  ///< of learn::model_kinds()
  std::uint64_t seed = 1;
  /// Share of each graph's runs that is not learned from but scored, at least one where there are two.
  double held_out_runs = 0.25;
  std::vector<std::string> held_out_graphs = {};  ///< not learned from at all but scored
};

/// Positions in a list of experiences, each in one part only, ascending. Runs are never divided.
struct Split {
  std::vector<std::size_t> train;
  std::vector<std::size_t> held_out_runs;    ///< runs not seen of graphs that were
  std::vector<std::size_t> held_out_graphs;  ///< graphs not seen
};
/// Which runs are held out depends on the seed and their names alone. kInvalidArgument: nothing is left to
/// learn from, a held-out graph that there is not, a share outside 0..1.
[[nodiscard]] Result<Split> split_of(std::span<const Experience> experiences,
                                     const ClassifierOptions& options);

/// What choices were worth.
struct ClassifierScores {
  std::size_t windows = 0;
  double accuracy = 0;     ///< share of windows for which nothing would have cost less than the choice
  double cost = 0;         ///< seconds, summed over the choices
  double oracle_cost = 0;  ///< of the best action for each window
  std::size_t best_fixed =
      0;  ///< the action that would have cost least, held for ever; the fallback among equals
  double best_fixed_cost = 0;
  double regret_oracle = 0;      ///< cost / oracle_cost - 1; 0 without windows
  double regret_best_fixed = 0;  ///< cost / best_fixed_cost - 1; negative: better than any fixed action
};

class Classifier {
 public:
  struct Choice {
    std::size_t action = 0;
    double confidence = 0;  ///< the model's probability of it
  };

  /// Learns from `which` of the experiences, each weighted by what an error costs there: the mean of the
  /// other actions' costs above the best one's, as a share of the window's mean cost. kInvalidArgument:
  /// nothing to learn from, an experience of another action set or with numbers that are not finite.
  [[nodiscard]] static Result<Classifier> train(std::span<const Experience> experiences,
                                                std::span<const std::size_t> which, const ActionSet& actions,
                                                const ClassifierOptions& options);
  /// JSON, checked number by number; kInvalidData for anything else, for another version, other metrics or
  /// another action set.
  [[nodiscard]] static Result<Classifier> load(const std::filesystem::path& path, const ActionSet& actions);
  /// Written whole or not at all.
  [[nodiscard]] Status save(const std::filesystem::path& path) const;

  [[nodiscard]] std::string_view kind() const noexcept { return model_.kind(); }
  /// `features` are finite. Thread-safe; calls no library.
  [[nodiscard]] Choice choose(const Features& features) const;
  /// Of choosing for `which` of the experiences, which are of this classifier's action set.
  [[nodiscard]] ClassifierScores score(std::span<const Experience> experiences,
                                       std::span<const std::size_t> which) const;

 private:
  Classifier(learn::Model model, std::string action_set, std::size_t fallback, std::size_t windows);

  learn::Model model_;
  std::string action_set_;  ///< its key
  std::size_t fallback_;
  std::size_t windows_;  ///< learned from
};

/// A classifier with what it scores on windows that it has seen, has not, and of graphs that it has not.
struct TrainedClassifier {
  Classifier classifier;
  Split split;
  ClassifierScores train;
  ClassifierScores held_out_runs;
  ClassifierScores held_out_graphs;
};
[[nodiscard]] Result<TrainedClassifier> train_classifier(std::span<const Experience> experiences,
                                                         const ActionSet& actions,
                                                         const ClassifierOptions& options);

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
#include "learn/early_stopping.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/rng.h"
#include "rudder/learn/boost.h"

namespace rudder::learn {
namespace {

constexpr std::uint64_t kCheckedOf = 6;    ///< one row of so many is kept apart
constexpr std::size_t kLeastChecked = 30;  ///< with fewer, all rows are learned from and looked at
constexpr int kFirstIterations = 10;
constexpr int kMostIterations = 320;
constexpr int kWorseInRow = 2;
constexpr std::int32_t kRounds = 150;

struct Parts {
  Prepared fit;
  Prepared check;
};

std::span<const float> row_of(const Prepared& input, std::size_t row) {
  return std::span(input.rows).subspan(row * input.columns, input.columns);
}

Parts divided(const Prepared& input) {
  Parts parts;
  for (Prepared* const part : {&parts.fit, &parts.check}) {
    part->columns = input.columns;
    part->classes = input.classes;
  }
  for (std::size_t i = 0; i < input.labels.size(); ++i) {
    const auto row = row_of(input, i);
    std::uint64_t key = 0;
    for (const float value : row) {
      key = mix64(key ^ std::bit_cast<std::uint32_t>(value)) + 1;
    }
    Prepared& part = mix64(key) % kCheckedOf == 0 ? parts.check : parts.fit;
    part.rows.insert(part.rows.end(), row.begin(), row.end());
    part.labels.push_back(input.labels[i]);
    if (!input.weights.empty()) {
      part.weights.push_back(input.weights[i]);
    }
  }
  if (parts.check.labels.size() < kLeastChecked || parts.fit.labels.size() < kLeastChecked) {
    return {input, input};
  }
  return parts;
}

/// Mean squared distance of the outputs from their targets.
double error_of(const Network& network, const Prepared& rows) {
  double sum = 0;
  std::vector<double> outputs(rows.classes);
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    const auto row = row_of(rows, i);
    network.apply(std::vector<double>(row.begin(), row.end()), outputs);
    for (std::size_t c = 0; c < outputs.size(); ++c) {
      const double target = static_cast<std::size_t>(rows.labels[i]) == c ? kNetworkTarget : -kNetworkTarget;
      sum += (outputs[c] - target) * (outputs[c] - target);
    }
  }
  return sum / static_cast<double>(rows.labels.size());
}

/// Number of trees, in steps of `step`, whose loss on the rows is least.
std::size_t trees_enough(const Forest& forest, const Prepared& rows, std::size_t step) {
  std::vector<std::vector<double>> scores(rows.labels.size(), std::vector<double>(rows.classes));
  double least = std::numeric_limits<double>::infinity();
  std::size_t enough = step;
  for (std::size_t trees = step; trees <= forest.trees(); trees += step) {
    double loss = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      forest.add(row_of(rows, i), scores[i], trees - step, trees);
      const double top = *std::max_element(scores[i].begin(), scores[i].end());
      double sum = 0;
      for (const double score : scores[i]) {
        sum += std::exp(score - top);
      }
      const double weight = static_cast<double>(rows.weights[i]);
      loss += weight * (std::log(sum) + top - scores[i][static_cast<std::size_t>(rows.labels[i])]);
    }
    if (loss < least) {
      least = loss;
      enough = trees;
    }
  }
  return enough;
}

}  // namespace

Result<Network> train_network_until(const Prepared& input) {
  const Parts parts = divided(input);
  Network best;
  double least = std::numeric_limits<double>::infinity();
  int worse = 0;
  for (int iterations = kFirstIterations; iterations <= kMostIterations && worse < kWorseInRow;
       iterations *= 2) {
    RUDDER_ASSIGN(Network network, train_network(parts.fit, iterations));
    const double error = error_of(network, parts.check);
    worse = error < least ? 0 : worse + 1;
    if (error < least) {
      least = error;
      best = std::move(network);
    }
  }
  return best;
}

Result<Forest> train_boosted_until(const Prepared& input, std::uint64_t seed) {
  const Parts parts = divided(input);
  const std::vector<float> labels(parts.fit.labels.begin(), parts.fit.labels.end());
  const std::vector<std::pair<std::string, std::string>> parameters = {
      {"objective", "multi:softprob"},
      {"num_class", std::to_string(input.classes)},
      {"tree_method", "hist"},
      {"verbosity", "0"},
      {"nthread", "1"},
      {"seed", std::to_string(seed % 2'000'000'000)},
      {"max_depth", "4"},
      {"eta", "0.1"},
      {"subsample", "0.8"}};
  RUDDER_ASSIGN(
      const std::string model,
      boost(
          {.rows = parts.fit.rows, .columns = input.columns, .labels = labels, .weights = parts.fit.weights},
          parameters, kRounds));
  RUDDER_ASSIGN(const Forest forest, Forest::from_xgboost(model));
  return forest.first(trees_enough(forest, parts.check, input.classes));
}

}  // namespace rudder::learn

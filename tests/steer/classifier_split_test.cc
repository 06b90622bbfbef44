// SPDX-License-Identifier: Apache-2.0
// What is learned from and what is scored: whole runs, whole graphs.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/steer/classifier.h"

#include "steer/ruled_windows.h"

namespace rudder::steer {
namespace {

using testing::HasSubstr;
using testing_support::Ruled;
using testing_support::ruled_windows;

using NamedRun = std::pair<std::string, std::string>;

std::set<NamedRun> runs_of(const std::vector<Experience>& all, const std::vector<std::size_t>& part) {
  std::set<NamedRun> runs;
  for (const std::size_t i : part) {
    runs.emplace(all[i].graph, all[i].run);
  }
  return runs;
}

class Splits : public testing::Test {
 protected:
  ActionSet actions_ = replace_actions();
};

TEST_F(Splits, DivideNoRunAndLoseNoWindow) {
  const auto all = ruled_windows(actions_, {.graphs = 3, .runs = 6, .windows = 5});
  const Split split = split_of(all, {.held_out_runs = 0.34, .held_out_graphs = {"graph1"}}).value();
  const auto train = runs_of(all, split.train);
  const auto runs = runs_of(all, split.held_out_runs);
  const auto graphs = runs_of(all, split.held_out_graphs);
  EXPECT_EQ(train.size(), 8U);
  EXPECT_EQ(runs.size(), 4U) << "two of six of each known graph";
  EXPECT_EQ(graphs.size(), 6U);
  std::set<NamedRun> together = train;
  together.insert(runs.begin(), runs.end());
  together.insert(graphs.begin(), graphs.end());
  EXPECT_EQ(together.size(), 18U) << "no run is in two parts";
  EXPECT_EQ(split.train.size() + split.held_out_runs.size() + split.held_out_graphs.size(), all.size());
  for (const auto& [graph, run] : graphs) {
    EXPECT_EQ(graph, "graph1");
  }
  std::set<std::string> known;
  for (const auto& [graph, run] : train) {
    known.insert(graph);
  }
  for (const auto& [graph, run] : runs) {
    EXPECT_EQ(known.count(graph), 1U) << "held-out runs are of graphs that were learned from";
  }
}

TEST_F(Splits, DependOnSeedAndNamesAlone) {
  const auto few = ruled_windows(actions_, {.graphs = 1, .runs = 8, .windows = 2});
  auto many = ruled_windows(actions_, {.seed = 9, .graphs = 1, .runs = 8, .windows = 7});
  std::reverse(many.begin(), many.end());
  const auto held_out = [&](const std::vector<Experience>& all, std::uint64_t seed) {
    return runs_of(all, split_of(all, {.seed = seed}).value().held_out_runs);
  };
  EXPECT_EQ(held_out(few, 1), held_out(many, 1));
  std::set<std::set<NamedRun>> different;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    different.insert(held_out(few, seed));
  }
  EXPECT_GT(different.size(), 4U);
}

TEST_F(Splits, KeepAtLeastOneRunOfEachGraphToLearnFrom) {
  const auto all = ruled_windows(actions_, {.graphs = 2, .runs = 2, .windows = 3});
  const Split split = split_of(all, {.held_out_runs = 0.99}).value();
  EXPECT_EQ(runs_of(all, split.train).size(), 2U);
  EXPECT_EQ(runs_of(all, split.held_out_runs).size(), 2U);
  const auto lone = ruled_windows(actions_, {.graphs = 1, .runs = 1, .windows = 3});
  EXPECT_TRUE(split_of(lone, {}).value().held_out_runs.empty());
  EXPECT_EQ(split_of(all, {.held_out_runs = 0}).value().train.size(), all.size());
  EXPECT_EQ(runs_of(all, split_of(all, {.held_out_runs = 0.01}).value().held_out_runs).size(), 2U);
}

TEST_F(Splits, WhatLeavesNothingIsAnError) {
  const auto refuses = [](const std::vector<Experience>& all, const ClassifierOptions& options,
                          const std::string& message) {
    const auto split = split_of(all, options);
    ASSERT_FALSE(split.ok()) << message;
    EXPECT_EQ(split.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(split.error().message, HasSubstr(message));
  };
  const auto all = ruled_windows(actions_, {.graphs = 1, .windows = 3});
  refuses({}, {}, "of 0 windows none is left");
  refuses(all, {.held_out_graphs = {"graph0"}}, "of 12 windows none is left");
  refuses(all, {.held_out_graphs = {"grph0"}},
          "no window is of graph 'grph0', which is to be held out (did you");
  refuses(all, {.held_out_runs = 1}, "share of runs 1");
  refuses(all, {.held_out_runs = -0.1}, "share of runs -0.1");
}

}  // namespace
}  // namespace rudder::steer

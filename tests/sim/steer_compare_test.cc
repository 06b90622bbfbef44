// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/steer_compare.h"

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/sim/experiences.h"

#include "sim/trace_folder.h"

namespace rudder::sim {
namespace {

using cache::testing_support::make_trace;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::small_shape;
using testing_support::TraceFolder;

class Compare : public ::testing::Test {
 protected:
  Compare() {
    options_.buffers = {cache::parse_buffer_size("0.1").value(), cache::parse_buffer_size("40").value()};
    options_.world.conditions.compute_seconds = 0.01;
    options_.world.conditions.link_bytes_per_second = 1e6;
    options_.folder = folder_.path();
    // Of one graph two seeds; the other is a quarter as long.
    graphs_ = {{"one", {write("one-1", 1, 20), write("one-2", 2, 20)}}, {"two", {write("two-1", 3, 5)}}};
  }

  std::filesystem::path write(const std::string& name, std::uint64_t seed, std::uint32_t epochs) const {
    auto shape = small_shape(seed);
    shape.epochs = epochs;
    return folder_.write(name, make_trace(shape));
  }
  std::vector<CompareRow> run() {
    Result<std::vector<CompareRow>> rows = compare(graphs_, options_, {});
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    return rows.ok() ? std::move(rows).value() : std::vector<CompareRow>();
  }
  std::string refusal() {
    const auto rows = compare(graphs_, options_, {});
    return rows.ok() ? "accepted" : rows.error().message;
  }

  TraceFolder folder_;
  std::vector<TracedGraph> graphs_;
  CompareOptions options_;
};

TEST_F(Compare, HasARowForEachGraphBufferAndMethodWithinTheBounds) {
  options_.methods = {"none", "never", "fixed:1", "fixed:8", "nearest", "hedge", "oracle"};
  std::map<std::string, CompareRow> by_name;
  for (const CompareRow& row : run()) {
    by_name[row.graph + " " + row.buffer + " " + row.method] = row;
    EXPECT_EQ(row.seeds, row.graph == "one" ? 2U : 1U);
    EXPECT_GE(row.hits_percent.mean, 0);
    EXPECT_LE(row.hits_percent.mean, 100);
    EXPECT_EQ(row.epoch_seconds.half_width > 0, row.graph == "one") << "one seed tells no interval";
  }
  ASSERT_EQ(by_name.size(), 2U * 2 * options_.methods.size());
  for (const std::string graph : {"one", "two"}) {
    for (const std::string buffer : {"0.1", "40"}) {
      const auto row = [&](const std::string& method) {
        return by_name[graph + " " + buffer + " " + method];
      };
      EXPECT_EQ(row("none").hits_percent.mean, 0);
      EXPECT_GT(row("never").hits_percent.mean, 0);
      EXPECT_LT(row("never").moved_rows.mean, row("none").moved_rows.mean);
      EXPECT_LT(row("never").epoch_seconds.mean, row("none").epoch_seconds.mean);
      for (const std::string method : {"never", "fixed:1", "fixed:8"}) {
        EXPECT_LE(row("oracle").epoch_seconds.mean, row(method).epoch_seconds.mean * (1 + 1e-12)) << method;
      }
      for (const std::string method : {"nearest", "hedge"}) {
        EXPECT_LE(row("oracle").epoch_seconds.mean, 1.02 * row(method).epoch_seconds.mean) << method;
      }
      EXPECT_GT(row("hedge").windows, 0U);
      EXPECT_EQ(row("fixed:8").windows, 0U) << "nobody decides";
    }
  }
}

TEST_F(Compare, DoesNotDependOnTheNumberOfThreads) {
  options_.methods = {"fixed:1", "hedge", "lr"};
  const std::vector<CompareRow> one = run();
  options_.threads = 3;
  const std::vector<CompareRow> three = run();
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].hits_percent.mean, three[i].hits_percent.mean) << one[i].method;
    EXPECT_EQ(one[i].moved_rows.mean, three[i].moved_rows.mean) << one[i].method;
  }
}

TEST_F(Compare, ClassifiersLearnFromTheOtherGraphsAlone) {
  options_.methods = {"lr", "rf"};
  EXPECT_EQ(run().size(), 8U);
  const auto windows = [&](const std::string& file) {
    return nlohmann::json::parse(read_text(folder_.path() / file).value())["windows"].get<std::size_t>();
  };
  // Collectors, buffers and ranks are two each; windows of 8 batches: 30 of 240 and 7 of 60.
  EXPECT_EQ(windows("lr-without-one.json"), 2U * 2 * 2 * 7);
  EXPECT_EQ(windows("rf-without-two.json"), 2U * 2 * 2 * 2 * 30);
}

TEST_F(Compare, SaysWhatIsMissing) {
  options_.methods = {"hegde"};
  EXPECT_THAT(refusal(), HasSubstr("did you mean 'hedge'?"));
  options_.methods = {"fixed:0"};
  EXPECT_THAT(refusal(), HasSubstr("'fixed:0'"));
  options_.methods = {"llm"};
  EXPECT_THAT(refusal(), HasSubstr("needs a language model"));
  options_.methods = {"xgb"};
  graphs_.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("xgb for graph one, from the other graphs"));
  options_.methods = {"none"};
  options_.world.window = 1000;
  EXPECT_THAT(refusal(), HasSubstr("one: 240 batches are fewer"));
  graphs_[0].traces = {folder_.path() / "absent"};
  EXPECT_THAT(refusal(), HasSubstr("absent"));
}

TEST(Experiences, AreThoseOfEachDecidersRun) {
  const cache::Trace trace = make_trace(small_shape(1));
  TraceWorld world;
  world.conditions.link_bytes_per_second = 1e6;
  const Scenario scenario = scenario_of(trace, 0, cache::parse_buffer_size("0.2").value(), world).value();
  const auto all = collect(scenario, {"run", "graph"}, {"never", "always"}, {.controller = {}, .horizon = 4});
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 2 * scenario.windows());
  for (std::size_t i = 0; i < all->size(); ++i) {
    const steer::Experience& each = (*all)[i];
    const std::size_t window = i % scenario.windows();
    EXPECT_EQ(each.run, "run");
    EXPECT_EQ(each.graph, "graph");
    EXPECT_EQ(each.sequence, window);
    EXPECT_EQ(each.report.action, i > scenario.windows() ? "replace" : "skip") << i << ": unguarded";
    EXPECT_EQ(each.costs.size(), 2U);
  }
  EXPECT_FALSE(collect(scenario, {"run", "graph"}, {"xgb"}, {.controller = {}, .horizon = 4}).ok())
      << "there is no classifier";
}

TEST(Experiences, AreNotMixedOfScenariosWithDifferentActions) {
  CollectOptions options;
  options.scenarios = {"drift", "stationary"};
  const auto all = collect_from_scenarios(options, {});
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr("drift and stationary have different action sets"));
}

}  // namespace
}  // namespace rudder::sim

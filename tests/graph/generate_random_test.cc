// SPDX-License-Identifier: Apache-2.0
#include "graph/generate_random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/graph/generators.h"

#include "graph/graph_helpers.h"

namespace rudder::graph {
namespace {

using testing::HasSubstr;

GeneratorOptions small_options() {
  GeneratorOptions options;
  options.features = 8;
  options.scale = 12;
  options.nodes = 4000;
  options.edge_factor = 8;
  return options;
}

GraphData make(const char* name, const GeneratorOptions& options) {
  auto graph = generate_graph(name, options);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::move(graph).value();
}

std::vector<EdgeIndex> degrees_of(const GraphData& graph) {
  std::vector<EdgeIndex> degrees;
  for (NodeId v = 0; v < view_of(graph).nodes(); ++v) {
    degrees.push_back(view_of(graph).degree(v));
  }
  return degrees;
}

class RandomFamily : public testing::TestWithParam<const char*> {};

TEST_P(RandomFamily, IsSymmetricAndComplete) {
  const GeneratorOptions options = small_options();
  const GraphData graph = make(GetParam(), options);
  const CscView csc = view_of(graph);
  EXPECT_TRUE(validate_csc(csc, csc.nodes(), "made").ok());
  EXPECT_TRUE(is_symmetric(csc));
  const auto nodes = static_cast<std::size_t>(csc.nodes());
  EXPECT_EQ(graph.rows.size(), nodes * 8 * sizeof(float));
  EXPECT_EQ(graph.labels.size(), nodes);
  EXPECT_EQ(graph.train.size() + graph.val.size() + graph.test.size(), nodes);
  EXPECT_NEAR(static_cast<double>(graph.train.size()) / static_cast<double>(nodes), 0.1, 0.02);
  EXPECT_NEAR(static_cast<double>(graph.val.size()) / static_cast<double>(nodes), 0.45, 0.04);
  const auto drawn = std::stoll(origin_value(graph.origin, "edges_drawn"));
  EXPECT_EQ(drawn, static_cast<long long>(8 * nodes));
  EXPECT_EQ(drawn, csc.edges() / 2 + std::stoll(origin_value(graph.origin, "self_loops_dropped")) +
                       std::stoll(origin_value(graph.origin, "duplicates_dropped")));
}

TEST_P(RandomFamily, IsAFunctionOfTheSeed) {
  GeneratorOptions options = small_options();
  const GraphData one = make(GetParam(), options);
  const GraphData again = make(GetParam(), options);
  options.seed = 2;
  const GraphData two = make(GetParam(), options);
  EXPECT_EQ(one.indices, again.indices);
  EXPECT_EQ(one.rows, again.rows);
  EXPECT_EQ(one.labels, again.labels);
  EXPECT_EQ(one.train, again.train);
  EXPECT_NE(one.indices, two.indices);
  EXPECT_NE(one.rows, two.rows);
  EXPECT_NE(one.labels, two.labels);
  EXPECT_NE(one.train, two.train);
}

TEST_P(RandomFamily, RefusesBadOptions) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](auto change, const char* word) {
    GeneratorOptions options = small_options();
    change(options);
    const auto graph = generate_graph(GetParam(), options);
    ASSERT_FALSE(graph.ok()) << word;
    EXPECT_EQ(graph.error().code, Errc::kInvalidArgument) << word;
    EXPECT_THAT(graph.error().message, HasSubstr(word));
  };
  refused([](auto& o) { o.features = 0; }, "features");
  refused([](auto& o) { o.classes = 0; }, "classes");
  refused([](auto& o) { o.edge_factor = -1; }, "edge_factor");
  refused([&](auto& o) { o.edge_factor = nan; }, "edge_factor");
  refused([](auto& o) { o.train_share = 1.5; }, "train_share");
}

INSTANTIATE_TEST_SUITE_P(All, RandomFamily, testing::Values("rmat", "chung-lu", "planted"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Planted, GivesEveryCommunityItsOwnAndOtherClasses) {
  GeneratorOptions options = small_options();
  const GraphData single = make("planted", options);
  options.multi_label = true;
  const GraphData several = make("planted", options);
  EXPECT_EQ(several.indices, single.indices);
  EXPECT_EQ(several.rows, single.rows);
  EXPECT_EQ(several.train, single.train);
  const auto classes = static_cast<std::size_t>(options.classes);
  ASSERT_EQ(several.label_rows.size(), single.labels.size() * classes);
  EXPECT_TRUE(several.labels.empty());
  std::map<std::int64_t, std::vector<std::uint8_t>> of_community;
  for (std::size_t v = 0; v < single.labels.size(); ++v) {
    const auto begin = several.label_rows.begin() + static_cast<std::ptrdiff_t>(v * classes);
    const std::vector<std::uint8_t> row(begin, begin + static_cast<std::ptrdiff_t>(classes));
    EXPECT_EQ(row[static_cast<std::size_t>(single.labels[v])], 1);
    EXPECT_EQ(of_community.try_emplace(single.labels[v], row).first->second, row);
  }
  EXPECT_THAT(generate_graph("rmat", options).error().message, HasSubstr("multi-label"));
}

TEST(RandomGraphs, RefuseWhatMemoryCannotHoldAndNameBothNumbers) {
  GeneratorOptions options;
  options.scale = 30;
  options.edge_factor = 500;
  const auto graph = generate_graph("rmat", options);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Errc::kResource);
  EXPECT_THAT(graph.error().message, testing::ContainsRegex("needs [0-9]+ bytes of memory, [0-9]+ are"));
}

TEST(RandomGraphs, UnknownNamesGetANearMissHint) {
  const auto graph = generate_graph("chunglu", {});
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().message, HasSubstr("did you mean 'chung-lu'?"));
}

TEST(ScrambledIds, AreAPermutation) {
  std::vector<NodeId> ids = scrambled_ids(1000, 7);
  EXPECT_NE(ids, scrambled_ids(1000, 8));
  EXPECT_FALSE(std::is_sorted(ids.begin(), ids.end()));
  std::sort(ids.begin(), ids.end());
  for (NodeId v = 0; v < 1000; ++v) {
    ASSERT_EQ(ids[static_cast<std::size_t>(v)], v);
  }
}

TEST(Rmat, QuadrantsHaveTheirShares) {
  // Scale 1 keeps only the pair (0,1); what was dropped tells the shares of the diagonal (.62) and the rest.
  GeneratorOptions options = small_options();
  options.scale = 1;
  options.edge_factor = 50'000;
  const GraphData graph = make("rmat", options);
  const double loops = std::stod(origin_value(graph.origin, "self_loops_dropped")) / 100'000;
  EXPECT_NEAR(loops, 0.62, 0.006);
  EXPECT_EQ(view_of(graph).edges(), 2);
}

TEST(Rmat, DegreesAreSkewedAndIdsScrambled) {
  const GraphData graph = make("rmat", small_options());
  std::vector<EdgeIndex> degrees = degrees_of(graph);
  const auto busiest = std::max_element(degrees.begin(), degrees.end()) - degrees.begin();
  EXPECT_NE(busiest, 0);  // unscrambled, node 0 is the hub
  const EdgeIndex sum = std::accumulate(degrees.begin(), degrees.end(), EdgeIndex{0});
  std::sort(degrees.rbegin(), degrees.rend());
  const EdgeIndex top = std::accumulate(degrees.begin(), degrees.begin() + 41, EdgeIndex{0});
  EXPECT_GT(static_cast<double>(top) / static_cast<double>(sum), 0.08);  // 1 % of the nodes; uniform: .01
}

TEST(Rmat, HasOneNodeAtScaleZero) {
  GeneratorOptions options = small_options();
  options.scale = 0;
  const GraphData graph = make("rmat", options);
  EXPECT_EQ(view_of(graph).nodes(), 1);
  EXPECT_EQ(view_of(graph).edges(), 0);
  options.scale = 31;
  EXPECT_EQ(rmat_graph(options).error().code, Errc::kInvalidArgument);
}

TEST(ChungLu, DegreesFollowThePowerLaw) {
  GeneratorOptions options = small_options();
  options.nodes = 100'000;
  options.exponent = 2.5;
  options.features = 1;
  const GraphData graph = make("chung-lu", options);
  // Hill's estimator over the nodes with degree >= 40, away from the cut-off at the top.
  double logs = 0;
  int count = 0;
  for (const EdgeIndex degree : degrees_of(graph)) {
    if (degree >= 40) {
      logs += std::log(static_cast<double>(degree) / 39.5);
      ++count;
    }
  }
  ASSERT_GT(count, 1000);
  EXPECT_NEAR(1 + count / logs, 2.5, 0.25);
}

TEST(ChungLu, RefusesAnExponentWithoutAMean) {
  GeneratorOptions options = small_options();
  options.exponent = 2;
  EXPECT_THAT(chung_lu_graph(options).error().message, HasSubstr("exponent"));
}

TEST(Planted, MixingIsTheShareOfEdgesThatLeave) {
  for (const double mixing : {0.0, 0.3, 1.0}) {
    GeneratorOptions options = small_options();
    options.mixing = mixing;
    const GraphData graph = make("planted", options);
    std::int64_t leaving = 0;
    for (NodeId v = 0; v < view_of(graph).nodes(); ++v) {
      for (const NodeId u : view_of(graph).neighbors(v)) {
        leaving += graph.labels[static_cast<std::size_t>(u)] != graph.labels[static_cast<std::size_t>(v)];
      }
    }
    EXPECT_NEAR(static_cast<double>(leaving) / static_cast<double>(graph.indices.size()), mixing, 0.02);
  }
}

TEST(Planted, CommunitiesDifferInSizeByAtMostOne) {
  GeneratorOptions options = small_options();
  options.nodes = 1003;
  options.classes = 17;
  std::map<std::int64_t, int> sizes;
  for (const std::int64_t label : make("planted", options).labels) {
    ++sizes[label];
  }
  ASSERT_EQ(sizes.size(), 17U);
  for (const auto& [label, size] : sizes) {
    EXPECT_TRUE(size == 59 || size == 58 || size == 60) << label << " has " << size;
  }
  const auto [least, most] =
      std::minmax_element(sizes.begin(), sizes.end(), [](auto& a, auto& b) { return a.second < b.second; });
  EXPECT_LE(most->second - least->second, 1);
}

/// Share of nodes whose nearest class mean (of training rows) is that of their community.
double nearest_mean_accuracy(const std::vector<std::vector<float>>& rows, const GraphData& graph) {
  std::vector<std::vector<double>> means(static_cast<std::size_t>(graph.classes),
                                         std::vector<double>(graph.features));
  std::vector<double> members(means.size());
  for (const NodeId v : graph.train) {
    const auto label = static_cast<std::size_t>(graph.labels[static_cast<std::size_t>(v)]);
    members[label] += 1;
    for (std::size_t i = 0; i < graph.features; ++i) {
      means[label][i] += static_cast<double>(rows[static_cast<std::size_t>(v)][i]);
    }
  }
  int right = 0;
  for (const NodeId v : graph.test) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t chosen = 0;
    for (std::size_t c = 0; c < means.size(); ++c) {
      double distance = 0;
      for (std::size_t i = 0; i < graph.features; ++i) {
        const double d = means[c][i] / members[c] - static_cast<double>(rows[static_cast<std::size_t>(v)][i]);
        distance += d * d;
      }
      if (distance < best) {
        best = distance;
        chosen = c;
      }
    }
    right += static_cast<std::size_t>(graph.labels[static_cast<std::size_t>(v)]) == chosen ? 1 : 0;
  }
  return right / static_cast<double>(graph.test.size());
}

TEST(Planted, NeighboursTellMoreAboutTheCommunityThanTheRow) {
  GeneratorOptions options = small_options();
  options.features = 32;
  options.classes = 8;
  options.train_share = 0.6;
  const GraphData graph = make("planted", options);
  std::vector<std::vector<float>> own;
  std::vector<std::vector<float>> around;
  for (NodeId v = 0; v < view_of(graph).nodes(); ++v) {
    own.push_back(row_of(graph, v));
    std::vector<float> mean(graph.features);
    for (const NodeId u : view_of(graph).neighbors(v)) {
      const std::vector<float> row = row_of(graph, u);
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] += row[i] / static_cast<float>(view_of(graph).degree(v));
      }
    }
    around.push_back(mean);
  }
  const double alone = nearest_mean_accuracy(own, graph);
  const double together = nearest_mean_accuracy(around, graph);
  EXPECT_GT(alone, 0.4);
  EXPECT_LT(alone, 0.9);
  EXPECT_GT(together, 0.95);
}

TEST(Planted, RefusesImpossibleCommunities) {
  GeneratorOptions options = small_options();
  options.classes = 1;
  EXPECT_THAT(planted_graph(options).error().message, HasSubstr("mixing"));
  options.mixing = 0;
  EXPECT_TRUE(planted_graph(options).ok());
  options.classes = options.nodes + 1;
  EXPECT_THAT(planted_graph(options).error().message, HasSubstr("classes"));
  options.nodes = 0;
  EXPECT_THAT(planted_graph(options).error().message, HasSubstr("nodes"));
}

TEST(NoiseRows, HaveMeanZeroAndVarianceOne) {
  GeneratorOptions options = small_options();
  options.features = 64;
  const GraphData graph = make("rmat", options);
  double sum = 0;
  double squares = 0;
  for (NodeId v = 0; v < view_of(graph).nodes(); ++v) {
    for (const float value : row_of(graph, v)) {
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  const auto count = static_cast<double>(graph.rows.size() / sizeof(float));
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.01);
}

}  // namespace
}  // namespace rudder::graph

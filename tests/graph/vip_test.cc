// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/vip.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/graph/generators.h"

#include "graph/graph_helpers.h"

namespace rudder::graph {
namespace {

/// The formula as written, node by node, with a product over all u that receive from v.
std::vector<double> literal(const CscView& csc, const std::vector<NodeId>& train, std::size_t batch,
                            const std::vector<int>& fanout) {
  const NodeId nodes = csc.nodes();
  std::vector<std::vector<double>> p(fanout.size() + 1, std::vector<double>(static_cast<std::size_t>(nodes)));
  for (const NodeId v : train) {
    p[0][static_cast<std::size_t>(v)] =
        std::min(1.0, static_cast<double>(batch) / static_cast<double>(train.size()));
  }
  for (std::size_t h = 1; h < p.size(); ++h) {
    for (NodeId v = 0; v < nodes; ++v) {
      double missed = 1;
      for (NodeId u = 0; u < nodes; ++u) {
        const auto from = csc.neighbors(u);
        if (std::find(from.begin(), from.end(), v) != from.end()) {
          const double limit = fanout[h - 1] < 0 ? 1e30 : fanout[h - 1];
          missed *= 1 - std::min(1.0, limit / static_cast<double>(csc.degree(u))) *
                            p[h - 1][static_cast<std::size_t>(u)];
        }
      }
      p[h][static_cast<std::size_t>(v)] = 1 - missed;
    }
  }
  std::vector<double> out;
  for (std::size_t v = 0; v < static_cast<std::size_t>(nodes); ++v) {
    double never = 1;
    for (const auto& hop : p) {
      never *= 1 - hop[v];
    }
    out.push_back(1 - never);
  }
  return out;
}

TEST(Vip, EqualsTheFormulaOnRandomDirectedGraphs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CounterRng random(seed);
    const auto nodes = static_cast<std::size_t>(5 + random.below(40));
    std::vector<EdgeIndex> indptr{0};
    std::vector<NodeId> indices;
    std::vector<NodeId> train;
    for (std::size_t v = 0; v < nodes; ++v) {
      for (std::size_t u = 0; u < nodes; ++u) {
        if (random.unit() < 0.15) {
          indices.push_back(static_cast<NodeId>(u));
        }
      }
      indptr.push_back(static_cast<EdgeIndex>(indices.size()));
      if (random.unit() < 0.4) {
        train.push_back(static_cast<NodeId>(v));
      }
    }
    for (const std::vector<int>& fanout : {std::vector<int>{}, {2}, {-1, 1}, {3, 2, 1}, {0, 5}}) {
      const std::vector<float> fast = inclusion_probability({indptr, indices}, train, 3, fanout);
      const std::vector<double> slow = literal({indptr, indices}, train, 3, fanout);
      ASSERT_EQ(fast.size(), nodes);
      for (std::size_t v = 0; v < nodes; ++v) {
        ASSERT_NEAR(static_cast<double>(fast[v]), slow[v], 1e-6) << "seed " << seed << " node " << v;
      }
    }
  }
}

TEST(Vip, HandWorkedPath) {
  // 0 ← 1, 1 ← {0, 2}, 2 ← 1; node 0 trains, one seed, fan-out 1 twice. Hop 1 takes 1 surely, hop 2 takes 0
  // or 2 with a chance of one half each.
  const std::vector<EdgeIndex> indptr{0, 1, 3, 4};
  const std::vector<NodeId> indices{1, 0, 2, 1};
  const std::vector<NodeId> train{0};
  const std::vector<int> fanout{1, 1};
  EXPECT_EQ(inclusion_probability({indptr, indices}, train, 1, fanout), (std::vector<float>{1, 1, 0.5F}));
}

TEST(Vip, NothingIsNeededWithoutTrainingNodes) {
  const std::vector<EdgeIndex> indptr{0, 1, 2};
  const std::vector<NodeId> indices{1, 0};
  const std::vector<int> fanout{2};
  EXPECT_EQ(inclusion_probability({indptr, indices}, {}, 8, fanout), (std::vector<float>{0, 0}));
  // More seeds than training nodes: each is surely in the batch.
  const std::vector<NodeId> train{1};
  EXPECT_EQ(inclusion_probability({indptr, indices}, train, 8, {}), (std::vector<float>{0, 1}));
}

TEST(Vip, SumPredictsTheRemoteRowsThatASamplerNeeds) {
  GeneratorOptions options;
  options.nodes = 4000;
  options.features = 1;
  options.edge_factor = 10;
  const GraphData graph = generate_graph("chung-lu", options).value();
  const CscView csc = view_of(graph);
  // The first quarter of the ids is this rank's part.
  const NodeId owned = csc.nodes() / 4;
  std::vector<NodeId> train;
  std::copy_if(graph.train.begin(), graph.train.end(), std::back_inserter(train),
               [&](NodeId v) { return v < owned; });
  ASSERT_GT(train.size(), 60U);
  constexpr std::size_t kBatch = 20;
  const std::vector<int> fanout{10, 5};
  const std::vector<float> vip = inclusion_probability(csc, train, kBatch, fanout);
  double predicted = 0;
  for (NodeId v = owned; v < csc.nodes(); ++v) {
    predicted += static_cast<double>(vip[static_cast<std::size_t>(v)]);
  }
  constexpr int kRounds = 200;
  CounterRng random(11);
  const auto choose = [&](std::vector<NodeId> from, std::size_t count) {
    for (std::size_t i = 0; i < std::min(count, from.size()); ++i) {
      std::swap(from[i], from[i + random.below(from.size() - i)]);
    }
    from.resize(std::min(count, from.size()));
    return from;
  };
  double measured = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<NodeId> seeds = choose(train, kBatch);
    std::set<NodeId> batch(seeds.begin(), seeds.end());
    for (const int limit : fanout) {
      // All nodes of the batch so far are destinations of the next hop.
      const std::vector<NodeId> destinations(batch.begin(), batch.end());
      for (const NodeId u : destinations) {
        const std::vector<NodeId> taken = choose(neighbors_of(csc, u), static_cast<std::size_t>(limit));
        batch.insert(taken.begin(), taken.end());
      }
    }
    measured +=
        static_cast<double>(std::count_if(batch.begin(), batch.end(), [&](NodeId v) { return v >= owned; }));
  }
  measured /= kRounds;
  EXPECT_NEAR(predicted, measured, 0.1 * measured);
}

}  // namespace
}  // namespace rudder::graph

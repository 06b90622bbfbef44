// SPDX-License-Identifier: Apache-2.0
// How far each policy stays from the optimum on a skewed trace of independent batches, the access pattern of
// random sampling: the known order must come out.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rudder/sim/replay.h"

#include "support/trace_maker.h"

namespace rudder::sim {
namespace {

using cache::testing_support::make_trace;
using cache::testing_support::TraceShape;

struct Case {
  const char* buffer;
  double lookahead;  ///< most that it may fetch, over the optimum
};

class Headroom : public testing::TestWithParam<Case> {};

TEST_P(Headroom, PoliciesKeepTheirOrder) {
  TraceShape shape;
  shape.ranks = 2;
  shape.nodes_per_part = 30'000;
  shape.epochs = 6;
  shape.steps_per_epoch = 20;
  shape.draws = 6'000;
  shape.exponent = 0.7;
  shape.degree_noise = 1.0;  // degrees only hint at the popularity
  const cache::Trace trace = make_trace(shape);
  std::vector<const cache::PolicyInfo*> all;
  for (const cache::PolicyInfo& info : cache::policy_table()) {
    all.push_back(&info);
  }
  const auto rows = replay_all(trace, all, {}, {cache::parse_buffer_size(GetParam().buffer).value()}, 2, {});
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  std::map<std::string, double> ratio;
  std::string table;
  for (const ReplayRow& row : *rows) {
    ratio[row.policy] = row.ratio_to_min().value();
    table += fmt::format("{} {:.3f}, ", row.policy, ratio[row.policy]);
  }
  RecordProperty("ratio_to_min", table);
  SCOPED_TRACE(table);

  EXPECT_LE(ratio["lookahead"], GetParam().lookahead);
  EXPECT_GT(ratio["oracle-static"], 1.05);
  EXPECT_LE(ratio["oracle-static"], ratio["vip"]);
  EXPECT_LT(ratio["vip"], 1.1 * ratio["oracle-static"]);
  EXPECT_LT(ratio["vip"], ratio["degree"]);
  EXPECT_LT(ratio["vip"], ratio["lru"]);
  EXPECT_LT(ratio["degree"], ratio["lru"]);
  EXPECT_LT(ratio["score"], ratio["none"]);
  EXPECT_LT(ratio["hotset"], ratio["lru"]);
  EXPECT_LT(ratio["lru"], ratio["none"]);
}

INSTANTIATE_TEST_SUITE_P(Buffers, Headroom,  // A twentieth of the halo is a third of a batch here, so that
                                             // one batch fills the whole look-ahead window.
                         testing::Values(Case{"0.05", 1.02}, Case{"0.1", 1.02}, Case{"0.25", 1.02},
                                         Case{"0.5", 1.02}));

}  // namespace
}  // namespace rudder::sim

// SPDX-License-Identifier: Apache-2.0
// Features that travel, and lie in the buffer, as f16 or bf16.
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/narrow.h"
#include "rudder/dataplane/feed.h"

#include "dataplane/cluster.h"

namespace rudder::dataplane {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Cluster;
using testing_support::GraphShape;
using testing_support::TestGraph;

PlaneOptions over(DType wire) {
  PlaneOptions options;
  options.wire = wire;
  return options;
}

/// Three ranks whose features are narrowed on their way.
class NarrowFeed : public testing::TestWithParam<DType> {
 protected:
  NarrowFeed()
      : graph_(GraphShape()),
        schedule_(sample::Schedule::create(11, 10, graph_.train()).value()),
        cluster_(graph_, over(GetParam())) {}

  /// The row of a node as rank 0 must get it.
  [[nodiscard]] std::vector<float> row_of(NodeId node) const {
    const PartId owner = graph_.graph().book().part_of(node);
    const graph::Part& part = graph_.part(owner);
    std::vector<float> row(graph_.graph().meta().features);
    std::memcpy(row.data(),
                part.features().data() + static_cast<std::size_t>(node - part.begin()) * graph_.row_bytes(),
                graph_.row_bytes());
    for (float& value : row) {
      if (owner != 0) {
        value = GetParam() == DType::kF16 ? f16_to_f32(f32_to_f16(value)) : bf16_to_f32(f32_to_bf16(value));
      }
    }
    return row;
  }

  TestGraph graph_;
  const sample::Schedule schedule_;
  Cluster cluster_;
};

TEST_P(NarrowFeed, RowsAreTheRoundedOnesUnderEveryPolicyAtHalfTheBytes) {
  for (const char* policy : {"none", "degree", "lru", "lookahead"}) {
    BufferOptions buffer;
    buffer.policy = policy;
    buffer.slots = 40;
    FeedOptions options;
    options.fanout = {3, 4};
    options.epochs = 2;
    options.batch = 10;
    auto source = make_embedded_feed({graph_.graph(), std::span(&graph_.part(0), 1), schedule_, 0},
                                     cluster_[0], options, buffer);
    ASSERT_TRUE(source.ok()) << source.error().message;
    for (StepId step = 0; step < source.value()->total(); ++step) {
      const auto batch = source.value()->next();
      ASSERT_TRUE(batch.ok()) << batch.error().message;
      EXPECT_EQ(batch->transfer.payload_bytes, batch->counts.fetched * graph_.row_bytes() / 2);
      for (std::size_t i = 0; i < batch->sampled.nodes.size(); ++i) {
        std::vector<float> got(graph_.graph().meta().features);
        std::memcpy(got.data(), batch->rows.data() + i * graph_.row_bytes(), graph_.row_bytes());
        ASSERT_EQ(got, row_of(batch->sampled.nodes[i])) << policy << ", batch " << step << ", row " << i;
      }
    }
  }
  const NarrowingError error = cluster_[1].narrowing_error();
  EXPECT_GT(error.values, 0U);
  EXPECT_EQ(error.values % graph_.graph().meta().features, 0U);
  EXPECT_GT(error.largest_absolute, 0);
  EXPECT_LE(error.largest_absolute, 0.00391F) << "values are below 2";
  EXPECT_EQ(cluster_[0].narrowing_error().values, 0U) << "nobody pulled from it";
}

TEST_P(NarrowFeed, AValueThatDoesNotFitIsRefusedWithItsNode) {
  std::vector<float> rows(static_cast<std::size_t>(graph_.part(1).size()) * graph_.graph().meta().features);
  rows[graph_.graph().meta().features * 3 + 2] = std::numeric_limits<float>::max();
  cluster_[1].publish(0, std::as_bytes(std::span(rows)), graph_.row_bytes());
  const NodeId begin = graph_.part(1).begin();
  std::vector<std::byte> got(4 * graph_.row_bytes() / 2);
  const auto pulled = [&](std::vector<NodeId> nodes) {
    return cluster_[0].wait(cluster_[0].pull(0, nodes, graph_.row_bytes() / 2, got.data()));
  };
  EXPECT_TRUE(pulled({begin, begin + 2}).ok());
  const auto refused = pulled({begin + 1, begin + 3});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("rank 1 (host host1) refused"),
                                             HasSubstr("a feature of node " + std::to_string(begin + 3) +
                                                       " does not fit " + std::string(name_of(GetParam())))));
  EXPECT_TRUE(pulled({begin + 2, begin + 4}).ok());
}

TEST_P(NarrowFeed, OtherTablesAreNotNarrowed) {
  std::vector<float> rows(static_cast<std::size_t>(graph_.part(1).size()), 1.00001F);
  cluster_[1].publish(7, std::as_bytes(std::span(rows)), sizeof(float));
  const std::vector<NodeId> nodes = {graph_.part(1).begin()};
  float got = 0;
  ASSERT_TRUE(
      cluster_[0].wait(cluster_[0].pull(7, nodes, sizeof(float), reinterpret_cast<std::byte*>(&got))).ok());
  EXPECT_EQ(got, 1.00001F);
}

INSTANTIATE_TEST_SUITE_P(Types, NarrowFeed, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& of) { return std::string(name_of(of.param)); });

TEST(NarrowWire, RefusesTypesThatFeaturesDoNotTravelAs) {
  GraphShape shape;
  shape.dtype = DType::kF16;
  shape.parts = 1;
  const TestGraph graph(shape);
  const auto message = [&](DType wire) {
    transport::LocalRendezvous rendezvous;
    const auto plane = Plane::create(graph.graph(), std::move(transport::make_loopback_transports(1)[0]),
                                     rendezvous, over(wire));
    return plane.ok() ? std::string("made") : plane.error().message;
  };
  EXPECT_EQ(message(DType::kF16), "made");
  EXPECT_THAT(message(DType::kF32), HasSubstr("features of type f16 do not travel as f32"));
  EXPECT_THAT(message(DType::kBF16), HasSubstr("features of type f16 do not travel as bf16"));
}

}  // namespace
}  // namespace rudder::dataplane

// SPDX-License-Identifier: Apache-2.0
// A plane as rank 0 of two, whose peer is the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/wire.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/rendezvous.h"

#include "dataplane/cluster.h"
#include "dataplane/manual_transport.h"

namespace rudder::dataplane::testing_support {

/// A graph in two parts, and what the peer says of itself.
class TwoRanks : public testing::Test {
 protected:
  TwoRanks() : graph_(two_parts()) {
    options_.world = 2;
    options_.host = "here";
  }
  /// The plane goes before all that a fixture made for it.
  void TearDown() override { plane_.reset(); }
  static GraphShape two_parts() {
    GraphShape shape;
    shape.parts = 2;
    return shape;
  }
  [[nodiscard]] Hello peer_hello(const std::string& topology = "replicated") const {
    Hello hello;
    hello.graph_digest = graph_.graph().graph_digest();
    hello.partition_digest = graph_.graph().digest();
    hello.dtype = "f32";
    hello.row_bytes = graph_.row_bytes();
    hello.world = 2;
    hello.rank = 1;
    hello.host = "there";
    hello.wire = "f32";
    hello.topology = topology;
    return hello;
  }
  /// The first `count` nodes of the peer.
  [[nodiscard]] std::vector<NodeId> theirs(std::size_t count) const {
    std::vector<NodeId> ids;
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(graph_.graph().book().begin(1) + static_cast<NodeId>(i));
    }
    return ids;
  }

  TestGraph graph_;
  PlaneOptions options_;
  std::unique_ptr<Plane> plane_;
};

/// The peer sends when the test says so: what arrives, and when, is exact.
class ManualPeer : public TwoRanks {
 protected:
  Status meet(const graph::PartitionedGraph& graph, std::vector<std::byte> greeting) {
    transport::LocalRendezvous rendezvous;
    static_cast<void>(rendezvous.put(options_.session + "/1", "manual"));
    std::vector<std::vector<std::byte>> greetings(2);
    greetings[1] = std::move(greeting);
    auto transport = std::make_unique<ManualTransport>(std::move(greetings), options_.secret);
    peer_ = transport.get();
    peer_->before_greetings = early_;
    auto plane = Plane::create(graph, std::move(transport), rendezvous, options_);
    if (!plane.ok()) {
      return plane.error();
    }
    plane_ = std::move(plane).value();
    return {};
  }

  ManualTransport* peer_ = nullptr;              ///< the plane's
  std::function<void(ManualTransport&)> early_;  ///< called when the plane connects
};

}  // namespace rudder::dataplane::testing_support

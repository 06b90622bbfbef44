// SPDX-License-Identifier: Apache-2.0
// Planes of ranks that each have the structure of one part only, in one process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/dataplane/plane.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

namespace rudder::dataplane::testing_support {

/// Rank r's transport of `world`.
using MakeTransport = std::function<std::unique_ptr<transport::Transport>(Rank r, Rank world)>;

class OwnerCluster {
 public:
  /// `whole` says where the folder is; nothing else of it is used.
  explicit OwnerCluster(const graph::PartitionedGraph& whole, PlaneOptions options = {},
                        const MakeTransport& make = nullptr)
      : world_(whole.book().parts()), planes_(world_) {
    auto loopback = transport::make_loopback_transports(world_);
    for (Rank r = 0; r < world_; ++r) {
      auto own = graph::PartitionedGraph::open_own(whole.directory(), r);
      EXPECT_TRUE(own.ok()) << own.error().message;
      graphs_.push_back(std::move(own).value());
      parts_.push_back(graphs_.back().open_part(r).value());
    }
    std::vector<std::thread> threads;
    for (Rank r = 0; r < world_; ++r) {
      options.rank = r;
      options.world = world_;
      options.host = "host" + std::to_string(r);
      auto transport = make ? make(r, world_) : std::move(loopback[r]);
      threads.emplace_back([this, r, options, t = std::move(transport)]() mutable {
        auto plane = Plane::create(graphs_[r], std::move(t), rendezvous_, options);
        ASSERT_TRUE(plane.ok()) << plane.error().message;
        planes_[r] = std::move(plane).value();
        if (graphs_[r].row_bytes() > 0) {
          planes_[r]->publish(0, parts_[r].features(), graphs_[r].row_bytes());
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  [[nodiscard]] Rank world() const { return world_; }
  [[nodiscard]] Plane& operator[](Rank rank) { return *planes_[rank]; }
  [[nodiscard]] const graph::PartitionedGraph& graph(Rank rank) const { return graphs_[rank]; }
  [[nodiscard]] const graph::Part& part(Rank rank) const { return parts_[rank]; }
  void kill(Rank rank) { planes_[rank].reset(); }
  /// Runs f(rank) for all ranks at the same time.
  void on_all(const std::function<void(Rank)>& f) {
    std::vector<std::thread> threads;
    for (Rank r = 0; r < world_; ++r) {
      threads.emplace_back([&f, r] { f(r); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

 private:
  Rank world_;
  transport::LocalRendezvous rendezvous_;
  std::vector<graph::PartitionedGraph> graphs_;
  std::vector<graph::Part> parts_;
  std::vector<std::unique_ptr<Plane>> planes_;
};

}  // namespace rudder::dataplane::testing_support

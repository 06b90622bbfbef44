// SPDX-License-Identifier: Apache-2.0
// A small partitioned graph with recognisable rows, and planes of all ranks in one process.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/dtype.h"
#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/dataplane/plane.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

namespace rudder::dataplane::testing_support {

struct GraphShape {
  NodeId nodes = 600;
  std::size_t degree = 6;
  std::size_t features = 7;
  DType dtype = DType::kF32;
  PartId parts = 3;
  std::size_t train_stride = 4;  ///< every so manieth node trains
  std::uint64_t seed = 5;
};

/// Byte `i` of the row of the node that was `original` before partitioning.
inline std::byte row_byte(NodeId original, std::size_t i) {
  // Without this bit no element of a feature type is infinite or not a number, wherever its last byte is.
  return static_cast<std::byte>(mix64(static_cast<std::uint64_t>(original) * 4099 + i)) & std::byte{0xBF};
}

/// A random undirected graph whose rows are row_byte()s, cut by hash, in a temporary folder.
class TestGraph {
 public:
  explicit TestGraph(const GraphShape& shape)
      : folder_(TemporaryDirectory::create("rudder-dataplane").value()),
        partitioned_(make(shape, folder_.path())) {
    for (PartId p = 0; p < shape.parts; ++p) {
      parts_.push_back(partitioned_.open_part(p).value());
    }
  }

  [[nodiscard]] const graph::PartitionedGraph& graph() const { return partitioned_; }
  [[nodiscard]] const graph::Part& part(PartId p) const { return parts_[p]; }
  [[nodiscard]] std::size_t row_bytes() const { return partitioned_.row_bytes(); }
  [[nodiscard]] std::vector<std::span<const NodeId>> train() const {
    std::vector<std::span<const NodeId>> out;
    for (PartId p = 0; p < partitioned_.book().parts(); ++p) {
      out.push_back(partitioned_.train(p));
    }
    return out;
  }
  /// What the row of `node` must hold, from the formula and not from any file.
  [[nodiscard]] bool row_is_right(NodeId node, const std::byte* row) const {
    const NodeId original = partitioned_.original_ids()[static_cast<std::size_t>(node)];
    for (std::size_t i = 0; i < row_bytes(); ++i) {
      if (row[i] != row_byte(original, i)) {
        return false;
      }
    }
    return true;
  }
  /// `count` distinct remote nodes of `rank`, ascending.
  [[nodiscard]] std::vector<NodeId> remote_nodes(Rank rank, std::size_t count, std::uint64_t seed) const {
    std::vector<NodeId> ids;
    for (NodeId v = 0; v < partitioned_.book().nodes(); ++v) {
      if (!partitioned_.book().owns(rank, v)) {
        ids.push_back(v);
      }
    }
    CounterRng rng({seed});
    while (ids.size() > count) {
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(rng.below(ids.size())));
    }
    return ids;
  }

 private:
  static graph::PartitionedGraph make(const GraphShape& shape, const std::filesystem::path& folder) {
    graph::GraphData data;
    const auto n = static_cast<std::size_t>(shape.nodes);
    std::vector<std::vector<NodeId>> neighbors(n);
    CounterRng rng({shape.seed});
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t e = 0; e < shape.degree; ++e) {
        // Squared: a few nodes are wanted often, as in real graphs.
        const double u = rng.unit();
        const auto w = static_cast<std::size_t>(u * u * static_cast<double>(n));
        if (w != v) {
          neighbors[v].push_back(static_cast<NodeId>(w));
          neighbors[w].push_back(static_cast<NodeId>(v));
        }
      }
    }
    data.indptr.push_back(0);
    for (auto& list : neighbors) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      data.indices.insert(data.indices.end(), list.begin(), list.end());
      data.indptr.push_back(static_cast<EdgeIndex>(data.indices.size()));
    }
    data.dtype = shape.dtype;
    data.features = shape.features;
    const std::size_t row_bytes = shape.features * size_of(shape.dtype);
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t i = 0; i < row_bytes; ++i) {
        data.rows.push_back(row_byte(static_cast<NodeId>(v), i));
      }
      data.labels.push_back(static_cast<std::int64_t>(v % 5));
    }
    data.classes = 5;
    for (std::size_t v = 0; v < n; ++v) {
      auto& split = v % shape.train_stride == 0 ? data.train : v % 2 == 0 ? data.val : data.test;
      split.push_back(static_cast<NodeId>(v));
    }
    must(graph::write_graph(folder / "graph", data));
    const auto whole = must(graph::Graph::open(folder / "graph"));
    graph::PartitionOptions options;
    options.parts = shape.parts;
    options.method = graph::PartitionMethod::kHash;
    options.seed = shape.seed;
    must(graph::partition_graph(whole, options, folder / "parts", {}));
    return must(graph::PartitionedGraph::open(folder / "parts"));
  }
  template <class T>
  static T must(Result<T> result) {
    if (!result.ok()) {
      ADD_FAILURE() << result.error().message;
    }
    if constexpr (!std::is_void_v<T>) {
      return std::move(result).value();
    }
  }

  TemporaryDirectory folder_;
  graph::PartitionedGraph partitioned_;
  std::vector<graph::Part> parts_;
};

/// The planes of all ranks (hosts of options.parts_each parts), connected, features published as table 0.
class Cluster {
 public:
  using Wrap =
      std::function<std::unique_ptr<transport::Transport>(Rank, std::unique_ptr<transport::Transport>)>;

  explicit Cluster(const TestGraph& graph, PlaneOptions options = {}, const Wrap& wrap = nullptr)
      : rendezvous_(std::make_shared<transport::LocalRendezvous>()) {
    const Rank world = graph.graph().book().parts() / options.parts_each;
    auto transports = transport::make_loopback_transports(world);
    planes_.resize(world);
    std::vector<std::thread> threads;
    for (Rank r = 0; r < world; ++r) {
      options.rank = r;
      options.world = world;
      options.host = "host" + std::to_string(r);
      auto transport = wrap ? wrap(r, std::move(transports[r])) : std::move(transports[r]);
      threads.emplace_back([this, &graph, r, options, t = std::move(transport)]() mutable {
        auto plane = Plane::create(graph.graph(), std::move(t), *rendezvous_, options);
        ASSERT_TRUE(plane.ok()) << plane.error().message;
        planes_[r] = std::move(plane).value();
        std::vector<std::span<const std::byte>> runs;
        for (PartId p = r * options.parts_each; p < (r + 1) * options.parts_each; ++p) {
          runs.push_back(graph.part(p).features());
        }
        planes_[r]->publish(0, std::move(runs), graph.row_bytes());
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  [[nodiscard]] Plane& operator[](Rank rank) { return *planes_[rank]; }
  [[nodiscard]] Rank world() const { return static_cast<Rank>(planes_.size()); }
  void kill(Rank rank) { planes_[rank].reset(); }

 private:
  std::shared_ptr<transport::Rendezvous> rendezvous_;
  std::vector<std::unique_ptr<Plane>> planes_;
};

}  // namespace rudder::dataplane::testing_support

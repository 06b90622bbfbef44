// SPDX-License-Identifier: Apache-2.0
// Neighbours drawn for single nodes, by whoever holds their structure: what sampling without the whole
// structure is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/graph.h"

namespace rudder::sample {

/// One hop of one batch: all that a node's draw depends on beside the node.
struct HopRule {
  std::uint64_t stream = 0;  ///< of random numbers: a function of run seed, epoch, global batch and hop
  int fanout = -1;           ///< neighbours a node; -1 takes all
};

/// Neighbours of some nodes, one node after the other, in the order in which a sampler takes them.
struct DrawnNeighbors {
  std::vector<std::uint32_t> counts;  ///< by node
  std::vector<NodeId> ids;

  void clear() noexcept {
    counts.clear();
    ids.clear();
  }
};

/// Draws for the nodes of a slice what a NeighborSampler over the whole structure takes for them. Holds
/// scratch memory: one object a thread. The structure must outlive it.
class NeighborDrawer {
 public:
  explicit NeighborDrawer(graph::CscSlice own);
  ~NeighborDrawer();
  NeighborDrawer(NeighborDrawer&&) noexcept;
  NeighborDrawer& operator=(NeighborDrawer&&) noexcept;

  /// How many neighbours draw() appends for `v`, a node of the slice.
  [[nodiscard]] std::uint64_t count(NodeId v, int fanout) const noexcept;
  /// Appends to `out`. O(count).
  void draw(NodeId v, const HopRule& rule, DrawnNeighbors& out);
  /// Appends for each of `nodes`. O(neighbours drawn).
  void draw(std::span<const NodeId> nodes, const HopRule& rule, DrawnNeighbors& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What moved between ranks for structure: nodes asked about, and frames of both directions.
struct AskedTraffic {
  std::uint64_t nodes = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  AskedTraffic& operator+=(const AskedTraffic& other) noexcept {
    nodes += other.nodes;
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
};

/// Nodes whose neighbours were asked for. May be dropped at any time.
class Question {
 public:
  Question() = default;
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  virtual ~Question() = default;

  /// Waits for the answers and appends the neighbours of the asked nodes to `out`, in the order asked. Once.
  /// Errors name who was waited for.
  [[nodiscard]] virtual Result<AskedTraffic> wait(DrawnNeighbors& out) = 0;
};

/// Draws neighbours of nodes whose structure is elsewhere. Thread-safe.
class RemoteNeighbors {
 public:
  RemoteNeighbors() = default;
  RemoteNeighbors(const RemoteNeighbors&) = delete;
  RemoteNeighbors& operator=(const RemoteNeighbors&) = delete;
  virtual ~RemoteNeighbors() = default;

  /// Asks without blocking. `nodes` ascend, are distinct and none is here; they must stay valid as long as
  /// the question.
  [[nodiscard]] virtual std::unique_ptr<Question> ask(std::span<const NodeId> nodes, const HopRule& rule) = 0;
  /// Makes all waits, now and later, return kCancelled.
  virtual void stop() = 0;
};

}  // namespace rudder::sample

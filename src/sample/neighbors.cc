// SPDX-License-Identifier: Apache-2.0
#include "rudder/sample/neighbors.h"

#include <algorithm>

#include "rudder/core/check.h"

#include "sample/draw.h"
#include "sample/select.h"

namespace rudder::sample {
namespace {

/// Nodes between the stages of draw(): far enough for a read from memory, near enough to stay in cache.
constexpr std::size_t kAhead = 12;

}  // namespace

struct NeighborDrawer::Impl {
  graph::CscSlice own;
  Selector selector;
  std::vector<std::uint64_t> picks;
};

NeighborDrawer::NeighborDrawer(graph::CscSlice own) : impl_(std::make_unique<Impl>()) {
  impl_->own = own;
}
NeighborDrawer::~NeighborDrawer() = default;
NeighborDrawer::NeighborDrawer(NeighborDrawer&&) noexcept = default;
NeighborDrawer& NeighborDrawer::operator=(NeighborDrawer&&) noexcept = default;

std::uint64_t NeighborDrawer::count(NodeId v, int fanout) const noexcept {
  return std::min(static_cast<std::uint64_t>(impl_->own.degree(v)), limit_of(fanout));
}

void NeighborDrawer::draw(NodeId v, const HopRule& rule, DrawnNeighbors& out) {
  RUDDER_DCHECK(impl_->own.owns(v), "neighbours are drawn for nodes of the slice");
  const std::span<const NodeId> neighbors = impl_->own.neighbors(v);
  const std::uint64_t count = std::min<std::uint64_t>(neighbors.size(), limit_of(rule.fanout));
  out.counts.push_back(narrow<std::uint32_t>(count));
  if (count == neighbors.size()) {
    out.ids.insert(out.ids.end(), neighbors.begin(), neighbors.end());
    return;
  }
  if (count == 0) {
    return;
  }
  if (impl_->picks.size() < count) {
    impl_->picks.resize(count);
  }
  impl_->selector.choose(node_stream(rule.stream, v), neighbors.size(), count, impl_->picks.data());
  for (std::uint64_t i = 0; i < count; ++i) {
    out.ids.push_back(neighbors[impl_->picks[i]]);
  }
}

void NeighborDrawer::draw(std::span<const NodeId> nodes, const HopRule& rule, DrawnNeighbors& out) {
  const graph::CscSlice& own = impl_->own;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i + 2 * kAhead < nodes.size()) {
      __builtin_prefetch(own.csc.indptr.data() + (nodes[i + 2 * kAhead] - own.begin));
    }
    if (i + kAhead < nodes.size()) {
      __builtin_prefetch(own.csc.indices.data() +
                         own.csc.indptr[static_cast<std::size_t>(nodes[i + kAhead] - own.begin)]);
    }
    draw(nodes[i], rule, out);
  }
}

}  // namespace rudder::sample

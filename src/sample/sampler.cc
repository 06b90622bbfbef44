// SPDX-License-Identifier: Apache-2.0
#include "rudder/sample/sampler.h"

#include <utility>
#include <variant>

#include "sample/draw.h"
#include "sample/expander.h"
#include "sample/id_map.h"

namespace rudder::sample {
namespace {

/// Above this many nodes a dense map (8 bytes a node and sampler) costs more memory than it is worth.
constexpr NodeId kDenseNodes = NodeId{1} << 26;

using AnyExpander = std::variant<Expander<DenseIdMap>, Expander<HashIdMap>>;

AnyExpander make_expander(graph::CscView topology, const std::vector<int>& fanout) {
  if (topology.nodes() <= kDenseNodes) {
    return AnyExpander(std::in_place_index<0>, topology, fanout);
  }
  return AnyExpander(std::in_place_index<1>, topology, fanout);
}

}  // namespace

struct NeighborSampler::Impl {
  Impl(graph::CscView topology, const std::vector<int>& fanout, std::uint64_t run_seed)
      : expander(make_expander(topology, fanout)), seed(run_seed) {}

  AnyExpander expander;
  std::uint64_t seed;
};

NeighborSampler::NeighborSampler(graph::CscView topology, std::vector<int> fanout, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(topology, fanout, seed)) {}
NeighborSampler::~NeighborSampler() = default;
NeighborSampler::NeighborSampler(NeighborSampler&&) noexcept = default;
NeighborSampler& NeighborSampler::operator=(NeighborSampler&&) noexcept = default;

void NeighborSampler::sample(std::span<const NodeId> seeds, BatchKey key, std::uint64_t global_batch,
                             SampledBatch& out) {
  out.key = key;
  out.asked = {};
  const std::uint64_t stream = batch_stream(impl_->seed, key.epoch, global_batch);
  std::visit([&](auto& expander) { expander.expand(seeds, stream, out); }, impl_->expander);
}

}  // namespace rudder::sample

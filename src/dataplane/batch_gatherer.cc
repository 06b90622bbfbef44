// SPDX-License-Identifier: Apache-2.0
#include "dataplane/batch_gatherer.h"

#include <utility>

#include "rudder/core/gather.h"
#include "rudder/core/narrow.h"

namespace rudder::dataplane {
namespace {

constexpr std::size_t kKeptBatches = 16;

}  // namespace

BatchGatherer::BatchGatherer(std::span<const graph::Part> parts, std::size_t own, const RowTypes& types)
    : types_(types), own_(parts[own]), end_(parts.back().begin() + parts.back().size()), rows_(kKeptBatches) {
  for (const graph::Part& part : parts) {
    homes_.push_back({part.begin(), reinterpret_cast<std::uintptr_t>(part.features().data())});
  }
}

/// Remote nodes get a wrong address, to be replaced: cheaper than telling them apart.
void BatchGatherer::find_owned(std::span<const NodeId> nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::size_t home = homes_.size() - 1;
    while (home > 0 && nodes[i] < homes_[home].begin) {
      --home;
    }
    const auto row = static_cast<std::uintptr_t>(nodes[i] - homes_[home].begin);
    sources_[i] = reinterpret_cast<const std::byte*>(homes_[home].rows + row * types_.own_bytes());
  }
}

Batch BatchGatherer::gather(sample::SampledBatch sampled, std::span<const LocalId> positions,
                            const PlacedRows& placed) {
  Batch batch;
  batch.step = placed.step;
  batch.counts = placed.counts;
  batch.transfer = placed.transfer;
  sources_.resize(sampled.nodes.size());
  find_owned(sampled.nodes);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const cache::RowSource place = placed.places[i];
    sources_[positions[i]] =
        (place.staged ? placed.staging : placed.slots) + std::size_t{place.place} * types_.placed_bytes();
  }
  batch.rows = rows_.take(sampled.nodes.size() * types_.own_bytes());
  if (types_.placed == types_.own) {
    gather_rows(sources_, types_.own_bytes(), batch.rows.data());
  } else {
    narrow_.assign(sources_.size(), 0);
    for (const LocalId position : positions) {
      narrow_[position] = 1;
    }
    gather_widened(sources_, narrow_, types_.placed, types_.columns,
                   reinterpret_cast<float*>(batch.rows.data()));
  }
  const LocalId labelled = own_.labels().empty() ? 0 : sampled.seeds;
  batch.labels.reserve(labelled);
  for (LocalId i = 0; i < labelled; ++i) {
    batch.labels.push_back(own_.labels()[static_cast<std::size_t>(sampled.nodes[i] - own_.begin())]);
  }
  batch.sampled = std::move(sampled);
  return batch;
}

}  // namespace rudder::dataplane

// SPDX-License-Identifier: Apache-2.0
// Traces in memory for simulator tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "rudder/cache/trace.h"
#include "rudder/core/ids.h"
#include "rudder/core/rng.h"

#include "support/policy_driver.h"

namespace rudder::cache::testing_support {

struct TraceShape {
  std::uint64_t seed = 1;
  Rank ranks = 2;
  std::size_t nodes_per_part = 500;
  std::uint32_t epochs = 3;
  std::uint32_t steps_per_epoch = 10;
  std::size_t draws = 60;     ///< requests of a batch before duplicates are merged
  double exponent = 0.8;      ///< of the rows' popularity
  double degree_noise = 0.0;  ///< 0: degrees rank rows as their popularity does
};

/// Every rank draws its batches by Zipf's law from all nodes that are not its own. Degrees and inclusion
/// probabilities follow the popularity; the halo is the more popular half.
inline Trace make_trace(const TraceShape& shape) {
  Trace trace;
  TraceHeader& header = trace.header;
  const std::size_t nodes = shape.nodes_per_part * shape.ranks;
  header.seed = shape.seed;
  header.nodes = static_cast<NodeId>(nodes);
  header.row_bytes = 512;
  header.epochs = shape.epochs;
  header.steps_per_epoch = shape.steps_per_epoch;
  header.batch = 1;
  header.fanout = {10, 25};
  for (Rank rank = 0; rank <= shape.ranks; ++rank) {
    header.part_offsets.push_back(static_cast<NodeId>(shape.nodes_per_part * rank));
  }
  const ZipfRows zipf(shape.seed, nodes, shape.exponent, true);
  const std::vector<double> weight = zipf.weights();
  CounterRng noise({shape.seed, 11});
  header.indptr = {0};
  for (std::size_t node = 0; node < nodes; ++node) {
    const double blur = std::exp(shape.degree_noise * (2.0 * noise.unit() - 1.0));
    const double degree = std::ceil(1e6 * weight[node] * blur);
    header.indptr.push_back(header.indptr.back() + static_cast<EdgeIndex>(degree));
  }
  std::vector<double> sorted = weight;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(nodes / 2), sorted.end());
  const double median = sorted[nodes / 2];
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    const NodeId begin = header.part_offsets[rank];
    const NodeId end = header.part_offsets[rank + 1];
    const auto is_remote = [&](NodeId row) { return row < begin || row >= end; };
    header.halo.emplace_back();
    header.vip.emplace_back();
    for (NodeId node = 0; node < header.nodes; ++node) {
      const double probability = weight[static_cast<std::size_t>(node)];
      header.vip.back().push_back(
          static_cast<float>(1.0 - std::pow(1.0 - probability, static_cast<double>(shape.draws))));
      if (is_remote(node) && probability >= median) {
        header.halo.back().push_back(node);
      }
    }
    trace.ranks.emplace_back();
    Trace::RankBatches& batches = trace.ranks.back();
    batches.offsets.push_back(0);
    for (StepId step = 0; step < header.steps(); ++step) {
      CounterRng rng({shape.seed, rank, step});
      std::vector<NodeId> rows = zipf.batch(rng, shape.draws);
      std::erase_if(rows, [&](NodeId row) { return !is_remote(row); });
      batches.rows.insert(batches.rows.end(), rows.begin(), rows.end());
      batches.offsets.push_back(batches.rows.size());
    }
  }
  return trace;
}

}  // namespace rudder::cache::testing_support

// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/merge.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace rudder::sim {
namespace {

/// Both are ascending; so is the result.
void unite(std::vector<NodeId>& all, std::span<const NodeId> more, std::vector<NodeId>& scratch) {
  scratch.clear();
  std::ranges::set_union(all, more, std::back_inserter(scratch));
  all.swap(scratch);
}

void drop_owned(std::vector<NodeId>& rows, NodeId begin, NodeId end) {
  const auto first = std::ranges::lower_bound(rows, begin);
  rows.erase(first, std::lower_bound(first, rows.end(), end));
}

}  // namespace

Result<cache::Trace> merge_hosts(const cache::Trace& trace, Rank each) {
  const cache::TraceHeader& from = trace.header;
  if (each == 0 || from.ranks() % each != 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("a trace of {} ranks cannot be divided into hosts of {}", from.ranks(), each)};
  }
  cache::Trace merged;
  merged.header = from;
  cache::TraceHeader& header = merged.header;
  header.part_offsets = {0};
  header.halo.clear();
  header.vip.clear();
  std::vector<NodeId> scratch;
  for (Rank first = 0; first < from.ranks(); first += each) {
    const NodeId begin = from.part_offsets[first];
    const NodeId end = from.part_offsets[first + each];
    header.part_offsets.push_back(end);
    std::vector<NodeId> halo;
    std::vector<float> vip = from.vip[first];
    for (Rank rank = first; rank < first + each; ++rank) {
      unite(halo, from.halo[rank], scratch);
      for (std::size_t v = 0; rank > first && v < vip.size(); ++v) {
        vip[v] = 1.0F - (1.0F - vip[v]) * (1.0F - from.vip[rank][v]);
      }
    }
    drop_owned(halo, begin, end);
    header.halo.push_back(std::move(halo));
    header.vip.push_back(std::move(vip));
    cache::Trace::RankBatches batches;
    batches.offsets.push_back(0);
    for (StepId step = 0; step < from.steps(); ++step) {
      std::vector<NodeId> rows;
      for (Rank rank = first; rank < first + each; ++rank) {
        unite(rows, trace.ranks[rank].batch(step), scratch);
      }
      drop_owned(rows, begin, end);
      batches.rows.insert(batches.rows.end(), rows.begin(), rows.end());
      batches.offsets.push_back(batches.rows.size());
    }
    merged.ranks.push_back(std::move(batches));
  }
  return merged;
}

}  // namespace rudder::sim

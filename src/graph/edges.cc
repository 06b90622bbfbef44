// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/edges.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "graph/at.h"

namespace rudder::graph {
namespace {

Status check_ids(NodeId nodes, const EdgeList& edges) {
  if (nodes < 0) {
    return Error{Errc::kInvalidArgument, fmt::format("{} nodes", nodes)};
  }
  if (edges.source.size() != edges.target.size()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} sources but {} targets", edges.source.size(), edges.target.size())};
  }
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    for (const NodeId id : {edges.source[i], edges.target[i]}) {
      if (id < 0 || id >= nodes) {
        return Error{Errc::kInvalidData, fmt::format("edge {}: node {} is outside [0, {})", i, id, nodes)};
      }
    }
  }
  return {};
}

/// Turns counts at [v + 1] into offsets, in place.
void accumulate_offsets(std::vector<EdgeIndex>& counts) {
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
}

/// The transpose of `csc`: for each source its targets, ascending. One counting sort.
Csc transpose(const Csc& csc) {
  Csc out;
  out.indptr.assign(csc.indptr.size(), 0);
  for (const NodeId source : csc.indices) {
    ++out.indptr[at(source) + 1];
  }
  accumulate_offsets(out.indptr);
  out.indices.resize(csc.indices.size());
  std::vector<EdgeIndex> next(out.indptr.begin(), out.indptr.end() - 1);
  const NodeId nodes = csc.view().nodes();
  for (NodeId target = 0; target < nodes; ++target) {
    for (const NodeId source : csc.view().neighbors(target)) {
      out.indices[at(next[at(source)]++)] = target;
    }
  }
  return out;
}

/// Buckets the targets by source, leaving out self-loops: the first of two counting sorts.
Csc bucket_by_source(NodeId nodes, const EdgeList& edges, DropReport& report) {
  Csc by_source;
  by_source.indptr.assign(at(nodes) + 1, 0);
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    if (edges.source[i] == edges.target[i]) {
      ++report.self_loops;
    } else {
      ++by_source.indptr[at(edges.source[i]) + 1];
    }
  }
  accumulate_offsets(by_source.indptr);
  by_source.indices.resize(at(by_source.indptr.back()));
  std::vector<EdgeIndex> next(by_source.indptr.begin(), by_source.indptr.end() - 1);
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    if (edges.source[i] != edges.target[i]) {
      by_source.indices[at(next[at(edges.source[i])]++)] = edges.target[i];
    }
  }
  return by_source;
}

/// Removes repeats from sorted neighbour lists in place.
void drop_repeats(Csc& csc, DropReport& report) {
  const std::size_t nodes = csc.indptr.size() - 1;
  EdgeIndex kept = 0;
  EdgeIndex begin = 0;
  for (std::size_t v = 0; v < nodes; ++v) {
    const EdgeIndex end = csc.indptr[v + 1];
    const EdgeIndex first_kept = kept;
    for (EdgeIndex e = begin; e < end; ++e) {
      if (kept > first_kept && csc.indices[at(kept - 1)] == csc.indices[at(e)]) {
        ++report.duplicates;
      } else {
        csc.indices[at(kept++)] = csc.indices[at(e)];
      }
    }
    csc.indptr[v + 1] = kept;
    begin = end;
  }
  csc.indices.resize(at(kept));
  csc.indices.shrink_to_fit();
}

/// The union of a structure and its transpose; pairs present in both count as duplicates, once a pair.
Csc symmetrise(const Csc& in, DropReport& report) {
  const Csc out = transpose(in);
  Csc both;
  both.indptr.assign(in.indptr.size(), 0);
  both.indices.reserve(2 * in.indices.size());
  std::int64_t shared = 0;
  const NodeId nodes = in.view().nodes();
  for (NodeId v = 0; v < nodes; ++v) {
    const auto from = in.view().neighbors(v);
    const auto to = out.view().neighbors(v);
    const std::size_t before = both.indices.size();
    std::set_union(from.begin(), from.end(), to.begin(), to.end(), std::back_inserter(both.indices));
    shared += static_cast<std::int64_t>(from.size() + to.size() - (both.indices.size() - before));
    both.indptr[at(v) + 1] = static_cast<EdgeIndex>(both.indices.size());
  }
  // Each such pair was met from both of its ends.
  report.both_directions += shared / 2;
  report.duplicates += shared / 2;
  both.indices.shrink_to_fit();
  return both;
}

}  // namespace

void DropReport::append_to(Origin& origin) const {
  origin.emplace_back("self_loops_dropped", std::to_string(self_loops));
  origin.emplace_back("duplicates_dropped", std::to_string(duplicates));
  origin.emplace_back("isolated_nodes_kept", std::to_string(isolated));
}

Result<Csc> build_csc(NodeId nodes, EdgeList edges, Direction direction, DropReport& report) {
  RUDDER_TRY(check_ids(nodes, edges));
  Csc by_source = bucket_by_source(nodes, edges, report);
  edges = EdgeList{};
  Csc csc = transpose(by_source);
  by_source = Csc{};
  drop_repeats(csc, report);
  if (direction == Direction::kUndirected) {
    csc = symmetrise(csc, report);
  }
  std::vector<bool> touched(direction == Direction::kAsGiven ? at(nodes) : 0);
  if (direction == Direction::kAsGiven) {
    for (const NodeId source : csc.indices) {
      touched[at(source)] = true;
    }
  }
  for (NodeId v = 0; v < nodes; ++v) {
    const bool has_edge = csc.view().degree(v) > 0 || (!touched.empty() && touched[at(v)]);
    report.isolated += has_edge ? 0 : 1;
  }
  return csc;
}

}  // namespace rudder::graph

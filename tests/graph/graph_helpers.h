// SPDX-License-Identifier: Apache-2.0
// Small readers of graphs in memory for the tests of this module.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/files.h"
#include "rudder/graph/graph.h"

namespace rudder::graph {

inline CscView view_of(const GraphData& data) {
  return {data.indptr, data.indices};
}

inline std::vector<NodeId> neighbors_of(const CscView& csc, NodeId v) {
  const auto span = csc.neighbors(v);
  return {span.begin(), span.end()};
}

inline std::vector<float> row_of(const GraphData& data, NodeId v) {
  std::vector<float> row(data.features);
  std::memcpy(row.data(), data.rows.data() + static_cast<std::size_t>(v) * data.features * sizeof(float),
              data.features * sizeof(float));
  return row;
}

inline double length_of(const std::vector<float>& row) {
  double squares = 0;
  for (const float value : row) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(squares);
}

inline std::string origin_value(const Origin& origin, const std::string& key) {
  const auto found =
      std::find_if(origin.begin(), origin.end(), [&](const auto& p) { return p.first == key; });
  return found == origin.end() ? "(absent)" : found->second;
}

/// Every entry has its opposite.
inline bool is_symmetric(const CscView& csc) {
  for (NodeId v = 0; v < csc.nodes(); ++v) {
    for (const NodeId u : csc.neighbors(v)) {
      const auto back = csc.neighbors(u);
      if (!std::binary_search(back.begin(), back.end(), v)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
// Which nodes of a batch live elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/ids.h"

namespace rudder::dataplane {

/// Finds a batch's remote nodes and sorts them. Not thread-safe; keeps its scratch memory.
class RemoteSplitter {
 public:
  /// Nodes [begin, end) of `nodes` are owned.
  RemoteSplitter(NodeId begin, NodeId end, NodeId nodes);

  /// `rows`: the remote ones of `batch` (distinct nodes), ascending; positions[i]: where rows[i] stands in
  /// `batch`. Radix sort: O(batch x digits of the largest id), 16 bytes of scratch a row, twice.
  void split(std::span<const NodeId> batch, std::vector<NodeId>& rows, std::vector<LocalId>& positions);

 private:
  struct Entry {
    NodeId node = 0;
    LocalId position = 0;
  };
  void sort();

  NodeId begin_;
  NodeId end_;
  unsigned bits_;  ///< that the largest id takes
  std::vector<Entry> entries_;
  std::vector<Entry> other_;
  std::vector<std::size_t> offsets_;
};

}  // namespace rudder::dataplane

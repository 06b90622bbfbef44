// SPDX-License-Identifier: Apache-2.0
#include "dataplane/remote_rows.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"

namespace rudder::dataplane {
namespace {

TEST(RemoteSplitter, SortsRemoteNodesAndRemembersTheirPlaces) {
  std::vector<NodeId> rows;
  std::vector<LocalId> positions;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CounterRng rng({seed});
    const auto nodes = static_cast<NodeId>(2 + rng.below(std::uint64_t{1} << (1 + seed)));
    const auto begin = static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(nodes)));
    const NodeId end = begin + static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(nodes - begin) + 1));
    RemoteSplitter splitter(begin, end, nodes);
    for (const std::size_t size : {0U, 1U, 100U, 3000U}) {
      std::set<NodeId> distinct;
      for (std::size_t i = 0; i < size; ++i) {
        distinct.insert(static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(nodes))));
      }
      std::vector<NodeId> batch(distinct.begin(), distinct.end());
      for (std::size_t i = batch.size(); i > 1; --i) {
        std::swap(batch[i - 1], batch[rng.below(i)]);
      }
      splitter.split(batch, rows, positions);
      std::vector<NodeId> expected;
      std::copy_if(batch.begin(), batch.end(), std::back_inserter(expected),
                   [&](NodeId v) { return v < begin || v >= end; });
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(rows, expected) << "seed " << seed << ", size " << size;
      ASSERT_EQ(positions.size(), rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(batch[positions[i]], rows[i]) << "seed " << seed << ", size " << size;
      }
    }
  }
}

}  // namespace
}  // namespace rudder::dataplane

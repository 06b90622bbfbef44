// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <list>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/policy_driver.h"

namespace rudder::cache {
namespace {

using namespace testing_support;

/// SIEVE word for word on a list: newest in front, the hand walks from the back to the front.
class ReferenceSieve {
 public:
  explicit ReferenceSieve(std::size_t capacity) : capacity_(capacity) {}

  void serve(const std::vector<NodeId>& rows) {
    std::vector<NodeId> misses;
    for (const NodeId row : rows) {
      const auto at = std::ranges::find(queue_, row, &Entry::row);
      if (at != queue_.end()) {
        at->visited = true;
      } else {
        misses.push_back(row);
      }
    }
    for (const NodeId row : misses) {
      if (capacity_ == 0) {
        continue;
      }
      if (queue_.size() == capacity_) {
        evict();
      }
      queue_.push_front({row, false});
    }
  }
  [[nodiscard]] std::vector<NodeId> contents() const {
    std::vector<NodeId> rows;
    for (const Entry& entry : queue_) {
      rows.push_back(entry.row);
    }
    std::ranges::sort(rows);
    return rows;
  }

 private:
  struct Entry {
    NodeId row;
    bool visited;
  };
  void evict() {
    auto at = hand_ == queue_.end() ? std::prev(queue_.end()) : hand_;
    while (at->visited) {
      at->visited = false;
      at = at == queue_.begin() ? std::prev(queue_.end()) : std::prev(at);
    }
    hand_ = at == queue_.begin() ? queue_.end() : std::prev(at);
    queue_.erase(at);
  }

  std::size_t capacity_;
  std::list<Entry> queue_;
  std::list<Entry>::iterator hand_ = queue_.end();  ///< end(): at the oldest
};

TEST(Sieve, EqualsTheListReferenceOnRandomTraces) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Batches batches = zipf_batches(seed, 120, 0.9, 80, 5 + seed * 3);
    for (const SlotId capacity : {0U, 1U, 2U, 7U, 40U, 200U}) {
      ReferenceSieve reference(capacity);
      const Outcome out = run_policy(make_policy("sieve", context_of(capacity)), capacity, batches);
      for (std::size_t step = 0; step < batches.size(); ++step) {
        ASSERT_EQ(out.before[step], reference.contents())
            << "seed " << seed << " C " << capacity << " step " << step;
        reference.serve(batches[step]);
      }
      ASSERT_EQ(out.before.back(), reference.contents());
      EXPECT_EQ(out.totals.requests, out.totals.hits + out.totals.fetched);
    }
  }
}

TEST(Sieve, KeepsAVisitedRowInPlaceAndEvictsTheNextOne) {
  // Queue 3 2 1 (1 oldest), 1 visited. A miss clears 1's bit and evicts 2; the hand then stands at 3.
  const Batches batches = {{1}, {2}, {3}, {1}, {4}, {5}};
  const Outcome out = run_policy(make_policy("sieve", context_of(3)), 3, batches);
  EXPECT_EQ(out.before[5], (std::vector<NodeId>{1, 3, 4}));
  EXPECT_EQ(out.before[6], (std::vector<NodeId>{1, 4, 5}));
  EXPECT_EQ(out.totals.hits, 1U);
}

}  // namespace
}  // namespace rudder::cache

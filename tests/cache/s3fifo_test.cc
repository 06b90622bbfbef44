// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_driver.h"

namespace rudder::cache {
namespace {

using namespace testing_support;

/// S3-FIFO on queues of ids, after the paper's pseudo-code. The ghost list holds the last evictions from the
/// small queue, those that came back included until they age out.
class ReferenceS3Fifo {
 public:
  explicit ReferenceS3Fifo(std::size_t capacity)
      : capacity_(capacity), small_target_(std::max<std::size_t>(1, capacity / 10)) {}

  void serve(const std::vector<NodeId>& rows) {
    std::vector<NodeId> misses;
    for (const NodeId row : rows) {
      if (const auto at = hits_.find(row); at != hits_.end()) {
        at->second = std::min(3, at->second + 1);
      } else {
        misses.push_back(row);
      }
    }
    for (const NodeId row : misses) {
      insert(row);
    }
  }
  [[nodiscard]] std::vector<NodeId> contents() const {
    std::vector<NodeId> rows;
    for (const auto& [row, hits] : hits_) {
      rows.push_back(row);
    }
    return rows;
  }

 private:
  [[nodiscard]] std::size_t main_target() const { return capacity_ - small_target_; }

  void insert(NodeId row) {
    if (capacity_ == 0) {
      return;
    }
    while (hits_.size() >= capacity_) {
      if (small_.size() >= small_target_) {
        evict_small();
      } else {
        evict_main();
      }
    }
    const auto ghost = std::find(ghosts_.begin(), ghosts_.end(), row);
    if (ghost != ghosts_.end()) {
      *ghost = kNoNode;
      main_.push_front(row);
    } else {
      small_.push_front(row);
    }
    hits_[row] = 0;
  }

  void evict_small() {
    bool evicted = false;
    while (!evicted && small_.size() >= small_target_) {
      const NodeId row = small_.back();
      small_.pop_back();
      if (hits_[row] > 1 && main_target() > 0) {
        hits_[row] = 0;
        main_.push_front(row);
        if (main_.size() > main_target()) {
          evict_main();
          evicted = true;
        }
      } else {
        hits_.erase(row);
        ghosts_.push_front(row);
        if (ghosts_.size() > main_target()) {
          ghosts_.pop_back();
        }
        evicted = true;
      }
    }
  }

  void evict_main() {
    for (;;) {
      const NodeId row = main_.back();
      main_.pop_back();
      if (hits_[row] == 0) {
        hits_.erase(row);
        return;
      }
      --hits_[row];
      main_.push_front(row);
    }
  }

  std::size_t capacity_;
  std::size_t small_target_;
  std::deque<NodeId> small_;
  std::deque<NodeId> main_;
  std::deque<NodeId> ghosts_;
  std::map<NodeId, int> hits_;
};

TEST(S3Fifo, EqualsTheQueueReferenceOnRandomTraces) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Batches batches = zipf_batches(seed, 150, 0.9, 100, 5 + seed * 3);
    for (const SlotId capacity : {0U, 1U, 2U, 3U, 15U, 60U, 200U}) {
      ReferenceS3Fifo reference(capacity);
      const Outcome out = run_policy(make_policy("s3fifo", context_of(capacity)), capacity, batches);
      for (std::size_t step = 0; step < batches.size(); ++step) {
        ASSERT_EQ(out.before[step], reference.contents())
            << "seed " << seed << " C " << capacity << " step " << step;
        ASSERT_LE(out.before[step].size(), capacity);
        reference.serve(batches[step]);
      }
      ASSERT_EQ(out.before.back(), reference.contents());
    }
  }
}

TEST(S3Fifo, AScanDoesNotFlushRowsThatAreHitOften) {
  // 20 slots: 2 small, 18 main. Rows 0..9 are hit three times, then 200 rows pass by once.
  Batches batches;
  const std::vector<NodeId> hot = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (int i = 0; i < 4; ++i) {
    batches.push_back(hot);
  }
  for (NodeId row = 100; row < 300; ++row) {
    batches.push_back({row});
  }
  const Outcome out = run_policy(make_policy("s3fifo", context_of(20)), 20, batches);
  EXPECT_TRUE(std::ranges::includes(out.before.back(), hot));
  const Outcome lru = run_policy(make_policy("lru", context_of(20)), 20, batches);
  EXPECT_FALSE(std::ranges::includes(lru.before.back(), hot));
}

}  // namespace
}  // namespace rudder::cache

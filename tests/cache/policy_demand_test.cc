// SPDX-License-Identifier: Apache-2.0
// Demand policies against models that are obviously right: plain vectors, searched from end to end.
#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

using testing_support::Batches;
using testing_support::make_policy;
using testing_support::random_scene;
using testing_support::rows_of;
using testing_support::Scene;

class Model {
 public:
  explicit Model(std::size_t capacity) : capacity_(capacity) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  void serve(const std::vector<NodeId>& rows) {
    const std::set<NodeId> held = rows_now();
    for (const NodeId row : rows) {
      if (held.count(row) > 0) {
        hit(row);
      }
    }
    for (const NodeId row : rows) {
      if (held.count(row) == 0 && capacity_ > 0) {
        admit(row);
      }
    }
    end_of_batch(rows.size());
  }
  [[nodiscard]] virtual std::set<NodeId> rows_now() const = 0;

 protected:
  virtual void hit(NodeId row) = 0;
  virtual void admit(NodeId row) = 0;
  virtual void end_of_batch(std::size_t /*uses*/) {}
  std::size_t capacity_;
};

class LruModel final : public Model {
 public:
  using Model::Model;
  [[nodiscard]] std::set<NodeId> rows_now() const override { return {order_.begin(), order_.end()}; }

 private:
  void hit(NodeId row) override {
    order_.erase(std::find(order_.begin(), order_.end(), row));
    order_.push_back(row);
  }
  void admit(NodeId row) override {
    if (order_.size() == capacity_) {
      order_.erase(order_.begin());
    }
    order_.push_back(row);
  }
  std::vector<NodeId> order_;
};

class LfuModel final : public Model {
 public:
  using Model::Model;
  [[nodiscard]] std::set<NodeId> rows_now() const override {
    std::set<NodeId> rows;
    for (const Item& item : items_) {
      rows.insert(item.row);
    }
    return rows;
  }

 private:
  struct Item {
    NodeId row = 0;
    int count = 0;
  };
  // Among equal counts, items are in the order in which they reached the count.
  static bool fewer(const Item& a, const Item& b) { return a.count < b.count; }

  void hit(NodeId row) override {
    const auto at =
        std::find_if(items_.begin(), items_.end(), [&](const Item& item) { return item.row == row; });
    const Item item{row, std::min(at->count + 1, 63)};
    items_.erase(at);
    items_.push_back(item);
  }
  void admit(NodeId row) override {
    if (items_.size() == capacity_) {
      items_.erase(std::min_element(items_.begin(), items_.end(), fewer));
    }
    items_.push_back({row, 1});
  }
  void end_of_batch(std::size_t uses) override {
    uses_ += uses;
    if (capacity_ > 0 && uses_ >= 10 * capacity_) {
      uses_ = 0;
      std::stable_sort(items_.begin(), items_.end(), fewer);
      for (Item& item : items_) {
        item.count = std::max(item.count / 2, 1);
      }
    }
  }
  std::vector<Item> items_;
  std::size_t uses_ = 0;
};

class ClockModel final : public Model {
 public:
  using Model::Model;
  [[nodiscard]] std::set<NodeId> rows_now() const override { return {rows_.begin(), rows_.end()}; }

 private:
  void hit(NodeId row) override { marked_.insert(row); }
  void admit(NodeId row) override {
    if (rows_.size() < capacity_) {
      rows_.push_back(row);
      return;
    }
    while (marked_.erase(rows_[hand_]) > 0) {
      hand_ = (hand_ + 1) % capacity_;
    }
    rows_[hand_] = row;
    hand_ = (hand_ + 1) % capacity_;
  }
  std::vector<NodeId> rows_;
  std::set<NodeId> marked_;
  std::size_t hand_ = 0;
};

void compare(const char* policy, const std::function<std::unique_ptr<Model>(std::size_t)>& make_model) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Scene scene = random_scene(seed, 8 + static_cast<NodeId>(seed % 40), 120, 1 + seed % 15);
    for (const SlotId capacity : {0U, 1U, 2U, 5U, 12U, 100U}) {
      Planner planner(make_policy(policy, scene.context(capacity)), capacity, 1);
      const std::unique_ptr<Model> model = make_model(capacity);
      for (std::size_t step = 0; step < scene.batches.size(); ++step) {
        planner.push(scene.batches[step]);
        static_cast<void>(planner.next());
        model->serve(scene.batches[step]);
        ASSERT_EQ(rows_of(planner.residency()), model->rows_now())
            << policy << " seed " << seed << " capacity " << capacity << " step " << step;
      }
    }
  }
}

TEST(Lru, HoldsWhatAListOfRowsInOrderOfUseHolds) {
  compare("lru", [](std::size_t capacity) { return std::make_unique<LruModel>(capacity); });
}

TEST(Lfu, HoldsWhatAListOfRowsWithCountsHolds) {
  compare("lfu", [](std::size_t capacity) { return std::make_unique<LfuModel>(capacity); });
}

TEST(Clock, HoldsWhatAnArrayWithMarksHolds) {
  compare("clock", [](std::size_t capacity) { return std::make_unique<ClockModel>(capacity); });
}

std::vector<std::set<NodeId>> contents_after(const char* policy, SlotId capacity, const Batches& batches) {
  PolicyContext context;
  context.capacity = capacity;
  Planner planner(make_policy(policy, context), capacity, 1);
  std::vector<std::set<NodeId>> result;
  for (const auto& batch : batches) {
    planner.push(batch);
    static_cast<void>(planner.next());
    result.push_back(rows_of(planner.residency()));
  }
  return result;
}

TEST(Lru, EvictsTheLeastRecentlyUsedRow) {
  using Rows = std::set<NodeId>;
  EXPECT_THAT(contents_after("lru", 2, {{1}, {2}, {1}, {3}, {1}, {4, 5, 6}}),
              ::testing::ElementsAre(Rows{1}, Rows{1, 2}, Rows{1, 2}, Rows{1, 3}, Rows{1, 3}, Rows{5, 6}));
}

TEST(Lfu, KeepsTheRowUsedMostOften) {
  EXPECT_EQ(contents_after("lfu", 2, {{1}, {1}, {1}, {2}, {3}, {4}}).back(), (std::set<NodeId>{1, 4}));
}

TEST(Lfu, ForgetsWhatWasPopularLongAgo) {
  Batches batches(60, {1, 2});  // both at the highest count
  for (int i = 0; i < 40; ++i) {
    batches.push_back({3});
    batches.push_back({4});
  }
  EXPECT_EQ(contents_after("lfu", 2, batches).back().count(1), 0U);
}

TEST(Clock, GivesAHitRowASecondChance) {
  using Rows = std::set<NodeId>;
  EXPECT_THAT(contents_after("clock", 2, {{1, 2}, {1}, {3}, {4}}),
              ::testing::ElementsAre(Rows{1, 2}, Rows{1, 2}, Rows{1, 3}, Rows{3, 4}));
}

}  // namespace
}  // namespace rudder::cache

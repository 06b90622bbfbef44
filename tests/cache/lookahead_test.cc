// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_cache.h"

namespace rudder::cache {
namespace {

using testing_support::Batches;
using testing_support::community_scene;
using testing_support::fetched_rows;
using testing_support::make_policy;
using testing_support::plan_run;
using testing_support::random_scene;
using testing_support::rows_of;
using testing_support::Scene;

/// What a row is worth to the look-ahead rule: smaller is better.
struct Worth {
  bool beyond = false;  ///< no use in the window
  StepId use = 0;
  double score = 0;
  friend bool operator<(const Worth& a, const Worth& b) {
    return a.beyond != b.beyond ? !a.beyond : a.beyond ? a.score > b.score : a.use < b.use;
  }
  friend bool operator==(const Worth& a, const Worth& b) { return !(a < b) && !(b < a); }
};

/// The rule, written down literally.
class LiteralLookahead {
 public:
  LiteralLookahead(const Scene& scene, SlotId capacity, std::size_t most)
      : scene_(scene), c_(capacity), most_(most) {}

  /// Extends the window before batch t is served.
  void look(StepId t, const std::set<NodeId>& buffer) {
    known_ = std::max(known_, t + 1);
    while (known_ < scene_.batches.size() && known_ - t - 1 < most_ &&
           c_ - buffer.size() < scene_.batches[t].size()) {
      std::set<NodeId> future;
      for (StepId step = t + 1; step < known_; ++step) {
        future.insert(scene_.batches[step].begin(), scene_.batches[step].end());
      }
      if (future.size() >= 4 * std::size_t{c_}) {
        break;
      }
      ++known_;
    }
  }
  /// The row's worth after batch t; nothing when it is never used again.
  [[nodiscard]] std::optional<Worth> worth(NodeId row, StepId t) const {
    for (StepId step = t + 1; step < known_; ++step) {
      if (std::binary_search(scene_.batches[step].begin(), scene_.batches[step].end(), row)) {
        return Worth{false, step, 0};
      }
    }
    if (known_ == scene_.batches.size()) {
      return std::nullopt;
    }
    const auto at = static_cast<std::size_t>(row);
    const double score = scene_.vip.empty() ? static_cast<double>(scene_.indptr[at + 1] - scene_.indptr[at])
                                            : static_cast<double>(scene_.vip[at]);
    return Worth{true, 0, score};
  }
  [[nodiscard]] StepId known() const { return known_; }

 private:
  const Scene& scene_;
  SlotId c_;
  std::size_t most_;
  StepId known_ = 0;
};

/// Checks each serve of one run against the literal rule.
void check_run(const Scene& scene, SlotId capacity, std::uint32_t most) {
  PolicySettings settings;
  settings.max_lookahead = most;
  Planner planner(make_policy("lookahead", scene.context(capacity), settings), capacity, 1);
  LiteralLookahead rule(scene, capacity, most);
  StepId pushed = 0;
  for (StepId t = 0; t < scene.batches.size(); ++t) {
    const std::set<NodeId> before = rows_of(planner.residency());
    rule.look(t, before);
    for (; planner.wants_input() && pushed < scene.batches.size(); ++pushed) {
      planner.push(scene.batches[pushed]);
    }
    ASSERT_EQ(pushed, capacity == 0 ? t + 1 : rule.known()) << "window at step " << t;
    static_cast<void>(planner.next());
    const std::set<NodeId> after = rows_of(planner.residency());

    std::set<NodeId> candidates = before;
    candidates.insert(scene.batches[t].begin(), scene.batches[t].end());
    std::vector<Worth> best;
    for (const NodeId row : candidates) {
      if (const auto worth = rule.worth(row, t)) {
        best.push_back(*worth);
      }
    }
    std::sort(best.begin(), best.end());
    best.resize(std::min<std::size_t>(best.size(), capacity));
    std::vector<Worth> kept;
    for (const NodeId row : after) {
      const auto worth = rule.worth(row, t);
      ASSERT_TRUE(worth.has_value()) << "row " << row << " is kept after its last use, step " << t;
      kept.push_back(*worth);
      for (const NodeId left : before) {
        const auto other = rule.worth(left, t);
        ASSERT_TRUE(before.count(row) > 0 || after.count(left) > 0 || !other || *worth < *other)
            << "row " << row << " replaced " << left << ", which is as good, step " << t;
      }
    }
    std::sort(kept.begin(), kept.end());
    ASSERT_EQ(kept.size(), best.size()) << "step " << t;
    ASSERT_TRUE(std::equal(kept.begin(), kept.end(), best.begin())) << "step " << t;
  }
}

TEST(Lookahead, KeepsWhatTheLiteralRuleKeeps) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Scene scene = random_scene(seed, 10 + static_cast<NodeId>(seed % 50), 30, 1 + seed % 12);
    if (seed % 3 == 0) {
      scene.vip.clear();
    }
    for (const SlotId capacity : {0U, 1U, 2U, 5U, 17U}) {
      for (const std::uint32_t most : {0U, 1U, 4U, 256U}) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed << " capacity " << capacity << " most " << most);
        check_run(scene, capacity, most);
        ASSERT_FALSE(HasFatalFailure());
      }
    }
  }
}

TEST(Lookahead, KeepsWhatTheLiteralRuleKeepsInLongWindows) {
  check_run(community_scene(3, 800, 120, 12), 60, 256);
}

TEST(Lookahead, WithAnUnlimitedWindowEqualsMin) {
  PolicySettings settings;
  settings.max_lookahead = 1'000'000;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Scene scene = random_scene(seed, 40, 20, 10);
    for (const SlotId capacity : {14U, 20U, 35U}) {  // 3 C exceeds the 40 rows there are
      ASSERT_EQ(fetched_rows(scene, "lookahead", capacity, settings), fetched_rows(scene, "min", capacity))
          << "seed " << seed << " capacity " << capacity;
    }
  }
}

TEST(Lookahead, StaysWithinTwoPercentOfMin) {
  constexpr NodeId kRows = 4000;
  for (const std::uint64_t seed : {1U, 2U}) {
    const Scene scene = community_scene(seed, kRows, 160, 250);
    for (const double share : {0.05, 0.1, 0.25, 0.5}) {
      const auto capacity = static_cast<SlotId>(share * static_cast<double>(kRows));
      const auto min = static_cast<double>(fetched_rows(scene, "min", capacity));
      const auto lookahead = static_cast<double>(fetched_rows(scene, "lookahead", capacity));
      EXPECT_LE(lookahead, 1.02 * min) << "seed " << seed << " share " << share;
      EXPECT_LT(lookahead, 0.95 * static_cast<double>(fetched_rows(scene, "lru", capacity)))
          << "the scene is too easy to tell policies apart";
    }
  }
}

TEST(Lookahead, PrefersLikelyRowsBeyondTheWindow) {
  Scene scene;
  scene.nodes = 8;
  scene.vip = {0, 0.1F, 0.9F, 0.5F, 0.2F, 0.7F, 0.3F, 0.3F};
  scene.batches = {{1, 2, 3}, {4, 5}, {6}, {7}, {0}};
  PolicySettings settings;
  settings.max_lookahead = 0;
  Planner planner(make_policy("lookahead", scene.context(2), settings), 2, 1);
  const std::vector<std::set<NodeId>> expected = {{2, 3}, {2, 5}, {2, 5}, {2, 5}};
  for (std::size_t step = 0; step < expected.size(); ++step) {
    planner.push(scene.batches[step]);
    static_cast<void>(planner.next());
    EXPECT_EQ(rows_of(planner.residency()), expected[step]) << "step " << step;
  }
  planner.push(scene.batches.back());  // the run ends here: nothing is worth keeping
  static_cast<void>(planner.next());
  EXPECT_EQ(planner.residency().size(), 0U);
}

TEST(Lookahead, AsksForNoMoreThanFourTimesTheBuffer) {
  Scene scene;
  scene.nodes = 400;
  for (NodeId step = 0; step < 100; ++step) {
    scene.batches.push_back({4 * step, 4 * step + 1, 4 * step + 2, 4 * step + 3});
  }
  scene.indptr.assign(401, 0);
  Planner planner(make_policy("lookahead", scene.context(8)), 8, 1);
  std::vector<std::size_t> pushed_at_step;
  std::size_t pushed = 0;
  for (int step = 0; step < 6; ++step) {
    while (planner.wants_input()) {
      planner.push(scene.batches[pushed++]);
    }
    pushed_at_step.push_back(pushed);
    static_cast<void>(planner.next());
  }
  // Batches 0 and 1 fit into the empty buffer. From then on 24 rows, six batches, are wanted beyond the
  // served one.
  EXPECT_THAT(pushed_at_step, ::testing::ElementsAre(1, 2, 11, 12, 13, 14));
}

TEST(Lookahead, StaysNearMinInALongRun) {
  const Scene scene = community_scene(9, 160, 3000, 6);
  EXPECT_LE(static_cast<double>(fetched_rows(scene, "lookahead", 20)),
            1.02 * static_cast<double>(fetched_rows(scene, "min", 20)));
}

}  // namespace
}  // namespace rudder::cache

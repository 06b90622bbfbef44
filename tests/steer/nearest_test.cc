// SPDX-License-Identifier: Apache-2.0
// The vote of the most similar windows, against the same sum over all that is remembered.
#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/steer/decider.h"
#include "rudder/steer/memory.h"

#include "steer/experiences.h"

namespace rudder::steer {
namespace {

using testing_support::drawn_experience;
using testing_support::four_knobs;
using testing_support::hit_window;

class Nearest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Decider> make(std::uint32_t count) const {
    return std::move(make_decider("nearest",
                                  {.actions = &actions_, .memory = memory_.get(), .demonstrations = count}))
        .value();
  }
  /// An experience that looks like that window and had those costs.
  void remember(const Window& window, std::vector<double> costs) const {
    Experience experience = drawn_experience(actions_, window.sequence);
    experience.features = features_of(window);
    experience.costs = std::move(costs);
    experience.best = static_cast<std::size_t>(
        std::min_element(experience.costs.begin(), experience.costs.end()) - experience.costs.begin());
    experience.decision.reset();
    ASSERT_TRUE(memory_->add(experience).ok());
  }

  ActionSet actions_ = four_knobs();
  std::unique_ptr<Memory> memory_ = std::move(Memory::open("")).value();
};

TEST_F(Nearest, ChoosesWhatASumOverAllWindowsChooses) {
  std::vector<Experience> all;
  for (std::uint64_t i = 0; i < 150; ++i) {
    all.push_back(drawn_experience(actions_, i));
    ASSERT_TRUE(memory_->add(all.back()).ok());
  }
  std::reverse(all.begin(), all.end());  // the newest first among equally similar ones
  int chosen[4] = {};
  for (std::uint64_t question = 0; question < 100; ++question) {
    Window window = hit_window(question, static_cast<double>(question) / 100);
    window.stall_seconds = static_cast<double>(question % 7) / 10;
    window.fresh = question * 9;
    const Features features = features_of(window);
    std::stable_sort(all.begin(), all.end(), [&](const Experience& a, const Experience& b) {
      return similarity(a.features, features) > similarity(b.features, features);
    });
    double best_price = 0;
    std::size_t best = 0;
    for (std::size_t action = 0; action < 4; ++action) {
      double price = 0;
      for (std::size_t i = 0; i < 6; ++i) {
        const double least = *std::min_element(all[i].costs.begin(), all[i].costs.end());
        price +=
            std::max(0.0, similarity(all[i].features, features)) * (all[i].costs[action] - least) / least;
      }
      if (action == 0 || price < best_price) {
        best_price = price;
        best = action;
      }
    }
    const auto decision = make(6)->decide(window, {});
    ASSERT_TRUE(decision.ok()) << decision.error().message;
    ASSERT_EQ(decision->action, best) << "question " << question;
    ++chosen[best];
  }
  EXPECT_GT(std::count_if(std::begin(chosen), std::end(chosen), [](int count) { return count > 5; }), 2);
}

TEST_F(Nearest, LooksAtNoMoreThanItIsTold) {
  remember(hit_window(0, 0.9), {1, 2, 2, 2});
  remember(hit_window(1, 0.1), {9, 1, 9, 9});
  remember(hit_window(2, 0.1), {9, 1, 9, 9});
  const auto one = make(1)->decide(hit_window(3, 0.9), {});
  EXPECT_EQ(one->action, 0U);
  EXPECT_EQ(one->confidence, 1);
}

TEST_F(Nearest, ConfidenceIsTheWeightOfThoseThatAgree) {
  remember(hit_window(0, 0.9), {1, 2, 2, 2});
  remember(hit_window(1, 0.9), {1, 3, 3, 3});
  remember(hit_window(2, 0.9), {1.1, 1, 3, 3});
  const auto decision = make(3)->decide(hit_window(3, 0.9), {});
  EXPECT_EQ(decision->action, 0U);
  EXPECT_NEAR(decision->confidence, 2.0 / 3, 1e-12);
}

TEST_F(Nearest, TheFallbackWinsAmongEqualsAndWhenNothingIsRemembered) {
  actions_.fallback = 2;
  const auto nothing = make(3)->decide(hit_window(0, 0.5), {});
  EXPECT_EQ(nothing->action, 2U);
  EXPECT_EQ(nothing->confidence, 0);
  EXPECT_EQ(nothing->reason, "no window is remembered");
  remember(hit_window(1, 0.5), {1, 2, 1, 1});
  EXPECT_EQ(make(3)->decide(hit_window(2, 0.5), {})->action, 2U);
}

TEST_F(Nearest, WindowsThatCostNothingHaveNoSay) {
  remember(hit_window(1, 0.5), {0, 5, 5, 5});
  remember(hit_window(2, 0.5), {2, 1, 2, 2});
  EXPECT_EQ(make(3)->decide(hit_window(3, 0.5), {})->action, 1U);
}

}  // namespace
}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// Trees: sums against XGBoost's own, votes of leaves, damaged ones.
#include "rudder/learn/forest.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/core/rng.h"
#include "rudder/learn/boost.h"

namespace rudder::learn {
namespace {

using testing::HasSubstr;

TEST(Forest, SumsEqualTheLibrarys) {
  std::vector<float> rows;
  std::vector<float> labels;
  CounterRng rng({5});
  for (int i = 0; i < 500; ++i) {
    const double x = rng.unit();
    const double y = rng.unit();
    rows.insert(rows.end(), {static_cast<float>(x), static_cast<float>(y)});
    labels.push_back(static_cast<float>(static_cast<int>(x * 2) + static_cast<int>(y * 2)));
  }
  const std::vector<std::pair<std::string, std::string>> parameters = {
      {"objective", "multi:softprob"}, {"num_class", "3"}, {"tree_method", "hist"}, {"nthread", "1"}};
  const BoosterInput input{.rows = rows, .columns = 2, .labels = labels};
  const auto model = boost(input, parameters, 5);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto theirs = predict_with_library(*model, input);
  ASSERT_TRUE(theirs.ok()) << theirs.error().message;
  const auto forest = Forest::from_xgboost(*model);
  ASSERT_TRUE(forest.ok()) << forest.error().message;
  EXPECT_EQ(forest->trees(), 15U);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::vector<double> sums(3, 0.5);  // the library's base margin
    forest->add(std::span(rows).subspan(i * 2, 2), sums);
    for (std::size_t k = 0; k < 3; ++k) {
      ASSERT_NEAR(sums[k], static_cast<double>((*theirs)[i * 3 + k]), 1e-5);
    }
  }
}

TEST(Forest, ARowWeighingThriceCountsAsThreeRows) {
  std::vector<float> rows;
  std::vector<float> labels;
  std::vector<float> weights;
  std::vector<float> repeated_rows;
  std::vector<float> repeated_labels;
  CounterRng rng({6});
  for (int i = 0; i < 200; ++i) {
    const auto x = static_cast<float>(rng.unit());
    const float label = rng.unit() < 0.7 ? (x > 0.4F ? 1.0F : 0.0F) : 0.0F;
    const int times = 1 + static_cast<int>(rng.below(3));
    rows.push_back(x);
    labels.push_back(label);
    weights.push_back(static_cast<float>(times));
    repeated_rows.insert(repeated_rows.end(), static_cast<std::size_t>(times), x);
    repeated_labels.insert(repeated_labels.end(), static_cast<std::size_t>(times), label);
  }
  const std::vector<std::pair<std::string, std::string>> parameters = {
      {"objective", "reg:squarederror"}, {"tree_method", "exact"}, {"nthread", "1"}};
  const auto weighted = Forest::from_xgboost(
      boost({.rows = rows, .columns = 1, .labels = labels, .weights = weights}, parameters, 3).value());
  const auto repeated = Forest::from_xgboost(
      boost({.rows = repeated_rows, .columns = 1, .labels = repeated_labels, .weights = {}}, parameters, 3)
          .value());
  for (const float x : rows) {
    std::vector<double> a(1);
    std::vector<double> b(1);
    weighted->add(std::span(&x, 1), a);
    repeated->add(std::span(&x, 1), b);
    ASSERT_NEAR(a[0], b[0], 1e-4);
  }
}

TEST(Forest, LeavesOfOneTreeMayVoteForSeveralClasses) {
  Forest forest;
  const std::vector<TreeNode> tree = {{.threshold = 0.5F, .left = 1, .right = 2, .feature = 0},
                                      {.threshold = 1, .feature = 2},
                                      {.threshold = 3, .feature = 0}};
  ASSERT_TRUE(forest.add_tree(tree, 0, {3, 1}).ok());
  ASSERT_TRUE(forest.add_tree(tree, 0, {3, 1}).ok());
  const auto again = Forest::from_json(forest.to_json(), {3, 1});
  ASSERT_TRUE(again.ok()) << again.error().message;
  for (const Forest* each : std::initializer_list<const Forest*>{&forest, &*again}) {
    std::vector<double> sums(3);
    const float low = 0.25F;
    const float high = 0.5F;  // not below the threshold
    each->add(std::span(&low, 1), sums);
    EXPECT_THAT(sums, testing::ElementsAre(0, 0, 2));
    each->add(std::span(&high, 1), sums);
    EXPECT_THAT(sums, testing::ElementsAre(6, 0, 2));
  }
}

TEST(Forest, DamagedTreesAreRefused) {
  const nlohmann::json good = {{{"group", 1},
                                {"left", {1, -1, -1}},
                                {"right", {2, -1, -1}},
                                {"feature", {1, 0, 1}},
                                {"threshold", {0.5, 1, 2}}}};
  ASSERT_TRUE(Forest::from_json(good, {3, 2}).ok());
  const auto refuses = [&](const std::function<void(nlohmann::json&)>& damage, const std::string& message) {
    nlohmann::json json = good;
    damage(json);
    const auto result = Forest::from_json(json, {3, 2});
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.error().code, Errc::kInvalidData);
    EXPECT_THAT(result.error().message, HasSubstr(message));
  };
  refuses([](auto& json) { json = 7; }, "not an array of trees");
  refuses([](auto& json) { json[0] = 7; }, "tree 0: an unknown class");
  refuses([](auto& json) { json[0]["group"] = 3; }, "tree 0: an unknown class");
  refuses([](auto& json) { json[0]["feature"][2] = 2; }, "tree 0: a leaf of an unknown class");
  refuses([](auto& json) { json[0]["feature"][0] = 2; }, "tree 0: an unknown feature");
  refuses([](auto& json) { json[0]["left"][0] = 0; }, "tree 0: a child that does not lie behind");
  refuses([](auto& json) { json[0]["right"][0] = 3; }, "tree 0: a child");
  refuses([](auto& json) { json[0]["left"][1] = 2; }, "tree 0: a child");
  refuses([](auto& json) { json[0]["threshold"].clear(); }, "tree 0: arrays of different lengths");
  refuses([](auto& json) { json[0]["threshold"][0] = 1e300; }, "tree 0: not arrays of numbers");
  refuses([](auto& json) { json[0]["left"][0] = 0.5; }, "tree 0: not arrays of numbers");
  refuses(
      [](auto& json) {
        for (const char* key : {"left", "right", "feature", "threshold"}) {
          json[0][key] = nlohmann::json::array();
        }
      },
      "tree 0: it is empty");
}

}  // namespace
}  // namespace rudder::learn

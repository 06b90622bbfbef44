// SPDX-License-Identifier: Apache-2.0
// Classifiers as JSON: they come back, and damaged ones are refused.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/learn/model.h"

#include "learn/model_samples.h"

namespace rudder::learn {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_support::draw;
using testing_support::Drawn;

class Files : public testing::TestWithParam<std::string> {};

TEST_P(Files, ModelsComeBackFromTheirText) {
  for (const std::uint32_t classes : {1U, 2U, 3U}) {
    const Drawn drawn = draw(classes, 300, 21);
    const auto model = Model::train(GetParam(), drawn.samples(), 1);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const auto again = Model::from_json(json::parse(model->to_json().dump()));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->to_json(), model->to_json());
    for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
      std::vector<double> a(classes);
      std::vector<double> b(classes);
      model->probabilities(drawn.row(i), a);
      again->probabilities(drawn.row(i), b);
      ASSERT_EQ(a, b);
    }
  }
}

TEST_P(Files, AnyNumberThatIsNoNumberIsRefused) {
  const auto good = Model::train(GetParam(), draw(3, 200, 22).samples(), 1)->to_json();
  const json flat = good.flatten();
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (const auto& [path, value] : flat.items()) {
    if (tried++ % (1 + flat.size() / 200) != 0) {
      continue;
    }
    json bad = good;
    bad[json::json_pointer(path)] = "x";
    ASSERT_FALSE(Model::from_json(bad).ok()) << path;
    bad[json::json_pointer(path)] = nullptr;
    ASSERT_FALSE(Model::from_json(bad).ok()) << path;
    ++refused;
  }
  EXPECT_GT(refused, 30U);
}

INSTANTIATE_TEST_SUITE_P(All, Files, testing::Values("lr", "svm", "mlp", "rf", "xgb"),
                         [](const auto& each) { return each.param; });

TEST(ModelFile, DamageIsNamed) {
  const auto refuses = [](const std::string& kind, const std::function<void(json&)>& damage,
                          const std::string& message) {
    json text = Model::train(kind, draw(3, 200, 23).samples(), 1)->to_json();
    damage(text);
    const auto result = Model::from_json(json::parse(text.dump()));
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.error().code, Errc::kInvalidData);
    EXPECT_THAT(result.error().message, HasSubstr(message));
  };
  refuses(
      "lr", [](json& text) { text = 5; }, "'kind'");
  refuses(
      "lr", [](json& text) { text["kind"] = "forest"; }, "'kind'");
  refuses(
      "lr", [](json& text) { text["columns"] = 0; }, "'columns'");
  refuses(
      "lr", [](json& text) { text["columns"] = 1e9; }, "'columns'");
  refuses(
      "lr", [](json& text) { text["columns"] = 7; }, "'mean' is not an array of 7");
  refuses(
      "lr", [](json& text) { text["classes"] = 65; }, "'classes'");
  refuses(
      "lr",
      [](json& text) {
        text["present"] = {0, 0, 1};
      },
      "'present'[1]");
  refuses(
      "lr",
      [](json& text) {
        text["present"] = {0, 1, 3};
      },
      "'present'[2]");
  refuses(
      "lr", [](json& text) { text["present"] = json::array(); }, "'present'");
  refuses(
      "lr",
      [](json& text) {
        text["present"] = {0, 1};
      },
      "'linear' has 3 outputs for 2 classes");
  refuses(
      "lr", [](json& text) { text["scale"][2] = 0; }, "'scale' holds 0");
  refuses(
      "lr", [](json& text) { text["mean"][2] = 1e31; }, "'mean'[2]");
  refuses(
      "svm", [](json& text) { text["linear"]["outputs"] = 4000; }, "'weights' is not an array of 28000");
  refuses(
      "svm", [](json& text) { text.erase("linear"); }, "'outputs'");
  refuses(
      "mlp", [](json& text) { text["network"].erase(2); }, "'network' has 12 outputs for 3 classes");
  refuses(
      "mlp", [](json& text) { text["network"] = json::array(); }, "'network' is not an array");
  refuses(
      "mlp", [](json& text) { text["network"][1]["outputs"] = 13; }, "'weights'");
  refuses(
      "rf", [](json& text) { text["forest"] = json::array(); }, "'forest' has no trees");
  refuses(
      "rf", [](json& text) { text["forest"][0]["feature"][0] = 6; }, "tree 0: an unknown feature");
  refuses(
      "xgb", [](json& text) { text["forest"][1]["group"] = 3; }, "tree 1: an unknown class");
}

TEST(ModelFile, AForestThatVotesForNothingChoosesEvenly) {
  json text = Model::train("rf", draw(2, 200, 24).samples(), 1)->to_json();
  text["forest"] = {{{"group", 0}, {"left", {-1}}, {"right", {-1}}, {"feature", {0}}, {"threshold", {-5}}}};
  const auto model = Model::from_json(json::parse(text.dump()));
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::vector<double> shares(2);
  model->probabilities(draw(2, 1, 24).row(0), shares);
  EXPECT_THAT(shares, testing::ElementsAre(0.5, 0.5));
}

}  // namespace
}  // namespace rudder::learn

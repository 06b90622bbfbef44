// SPDX-License-Identifier: Apache-2.0
// Classifiers of windows: what they learn, what their scores mean, their files, and the deciders made of
// them.
#include "rudder/steer/classifier.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/steer/decider.h"

#include "steer/experiences.h"
#include "steer/ruled_windows.h"

namespace rudder::steer {
namespace {

using testing::HasSubstr;
using testing_support::four_knobs;
using testing_support::hit_window;
using testing_support::rule_of;
using testing_support::Ruled;
using testing_support::ruled_windows;

double share_by_rule(const Classifier& classifier, const std::vector<Experience>& all, std::size_t actions) {
  double right = 0;
  for (const Experience& each : all) {
    right += classifier.choose(each.features).action == rule_of(each.features, actions) ? 1 : 0;
  }
  return right / static_cast<double>(all.size());
}

class Classifiers : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] ClassifierOptions options() const {
    return {.kind = GetParam(), .held_out_graphs = {"graph2"}};
  }
  ActionSet actions_ = replace_actions();
};

TEST_P(Classifiers, LearnAKnownRuleForRunsAndGraphsNotSeen) {
  const auto all = ruled_windows(actions_, {.windows = 300});
  const auto trained = train_classifier(all, actions_, options());
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_EQ(trained->classifier.kind(), GetParam());
  EXPECT_GT(trained->train.accuracy, 0.95);
  EXPECT_GT(trained->held_out_runs.accuracy, 0.95);
  EXPECT_GT(trained->held_out_graphs.accuracy, 0.95);
  EXPECT_EQ(trained->held_out_runs.windows, 600U);
  EXPECT_EQ(trained->held_out_graphs.windows, 1200U);
  EXPECT_LT(trained->held_out_graphs.regret_oracle, 0.025);
  EXPECT_LT(trained->held_out_graphs.regret_best_fixed, -0.1) << "no fixed action is as good";
}

TEST_P(Classifiers, LearnFourActions) {
  const ActionSet knobs = four_knobs();
  const auto trained = train_classifier(ruled_windows(knobs, {.windows = 300}), knobs,
                                        {.kind = GetParam(), .held_out_graphs = {}});
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  // One line against the rest cannot tell classes in the middle; they still beat any fixed action.
  const bool linear = GetParam() == "lr" || GetParam() == "svm";
  EXPECT_GT(trained->held_out_runs.accuracy, linear ? 0.7 : 0.9);
  EXPECT_LT(trained->held_out_runs.regret_best_fixed, -0.05);
}

TEST_P(Classifiers, BearWrongLabels) {
  const auto all = ruled_windows(actions_, {.windows = 300, .noise = 0.15});
  const auto trained = train_classifier(all, actions_, options());
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_GT(share_by_rule(trained->classifier, ruled_windows(actions_, {.seed = 5}), 2), 0.92);
  EXPECT_NEAR(trained->held_out_runs.accuracy, 0.85, 0.05) << "no more than can be known";
}

TEST_P(Classifiers, LearnFromOneClassToChooseItAlways) {
  auto all = ruled_windows(actions_, {.windows = 20});
  for (Experience& each : all) {
    each.best = 1;
    each.costs = {2, 1};
  }
  const auto trained = train_classifier(all, actions_, options());
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_EQ(trained->held_out_graphs.accuracy, 1);
  EXPECT_EQ(trained->held_out_graphs.regret_oracle, 0);
  EXPECT_EQ(trained->held_out_graphs.regret_best_fixed, 0);
  const auto choice = trained->classifier.choose({});
  EXPECT_EQ(choice.action, 1U);
  EXPECT_EQ(choice.confidence, 1);
}

TEST_P(Classifiers, CheapErrorsGiveWayToDearOnes) {
  // Everywhere alike, but action 1 is best in one window of four, where an error costs twelve times as much.
  auto all = ruled_windows(actions_, {.windows = 200});
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].best = i % 4 == 0 ? 1 : 0;
    all[i].costs = i % 4 == 0 ? std::vector<double>{13, 1} : std::vector<double>{1, 1.1};
  }
  const auto trained = train_classifier(all, actions_, options());
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_LT(trained->held_out_graphs.regret_oracle, 0.35) << "always 0 would be " << (12.0 / 4) / 1;
}

TEST_P(Classifiers, TheSameSeedGivesTheSameFile) {
  TemporaryDirectory folder = TemporaryDirectory::create("rudder-classifier").value();
  const auto all = ruled_windows(actions_, {.windows = 60});
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(train_classifier(all, actions_, options())->classifier.save(folder.path() / name).ok());
  }
  EXPECT_EQ(read_text(folder.path() / "a").value(), read_text(folder.path() / "b").value());
}

TEST_P(Classifiers, FilesAnswerAsBeforeAndDecideByTheSameFeatures) {
  TemporaryDirectory folder = TemporaryDirectory::create("rudder-classifier").value();
  const auto path = folder.path() / "classifier.json";
  // Windows, not bare features, so that training and deciding meet in features_of().
  std::vector<Experience> all;
  std::vector<Window> windows;
  for (std::uint64_t i = 0; i < 600; ++i) {
    Window window = hit_window(i, static_cast<double>(i * 37 % 100) / 100);
    window.stall_seconds = static_cast<double>(i * 11 % 50) / 100;
    Experience each;
    each.run = "run" + std::to_string(i % 6);
    each.graph = "graph";
    each.action_set = actions_.key();
    each.features = features_of(window);
    each.best = window.counts.hits < 400 ? 1 : 0;
    each.costs = each.best == 1 ? std::vector<double>{2, 1} : std::vector<double>{1, 2};
    all.push_back(each);
    windows.push_back(window);
  }
  const auto trained = train_classifier(all, actions_, {.kind = GetParam(), .held_out_graphs = {}});
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  ASSERT_TRUE(trained->classifier.save(path).ok());
  const auto decider = make_decider(GetParam(), {.actions = &actions_, .classifier = path});
  ASSERT_TRUE(decider.ok()) << decider.error().message;
  std::size_t right = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto decision = (*decider)->decide(windows[i], {});
    ASSERT_TRUE(decision.ok()) << decision.error().message;
    const auto choice = trained->classifier.choose(all[i].features);
    ASSERT_EQ(decision->action, choice.action);
    ASSERT_EQ(decision->confidence, choice.confidence);
    ASSERT_GE(decision->confidence, 0.5);
    ASSERT_LE(decision->confidence, 1);
    right += decision->action == all[i].best ? 1U : 0U;
  }
  EXPECT_GT(right, 570U);
}

INSTANTIATE_TEST_SUITE_P(All, Classifiers, testing::Values("lr", "svm", "mlp", "rf", "xgb"),
                         [](const auto& each) { return each.param; });

class Scores : public testing::Test {
 protected:
  ActionSet actions_ = four_knobs();
};

TEST_F(Scores, EqualALiteralRecomputation) {
  auto all = ruled_windows(actions_, {.windows = 80, .noise = 0.2});
  CounterRng rng({63});
  for (Experience& each : all) {
    for (double& cost : each.costs) {
      cost += rng.unit() / 3;
    }
    each.best =
        static_cast<std::size_t>(std::min_element(each.costs.begin(), each.costs.end()) - each.costs.begin());
  }
  const auto trained = train_classifier(all, actions_, {.kind = "rf", .held_out_graphs = {"graph0"}});
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const auto& split = trained->split;
  for (const auto& [part, scores] :
       {std::pair(&split.train, trained->train), std::pair(&split.held_out_runs, trained->held_out_runs),
        std::pair(&split.held_out_graphs, trained->held_out_graphs)}) {
    double right = 0;
    double chosen = 0;
    double least = 0;
    double fixed[4] = {};
    for (const std::size_t i : *part) {
      const std::size_t action = trained->classifier.choose(all[i].features).action;
      right += action == all[i].best ? 1 : 0;
      chosen += all[i].costs[action];
      least += all[i].costs[all[i].best];
      for (std::size_t a = 0; a < 4; ++a) {
        fixed[a] += all[i].costs[a];
      }
    }
    const double* const best = std::min_element(fixed, fixed + 4);
    EXPECT_EQ(scores.windows, part->size());
    EXPECT_NEAR(scores.accuracy, right / static_cast<double>(part->size()), 1e-12);
    EXPECT_NEAR(scores.cost, chosen, 1e-9);
    EXPECT_NEAR(scores.oracle_cost, least, 1e-9);
    EXPECT_EQ(scores.best_fixed, static_cast<std::size_t>(best - fixed));
    EXPECT_NEAR(scores.best_fixed_cost, *best, 1e-9);
    EXPECT_NEAR(scores.regret_oracle, chosen / least - 1, 1e-12);
    EXPECT_NEAR(scores.regret_best_fixed, chosen / *best - 1, 1e-12);
  }
}

TEST_F(Scores, AChoiceThatCostsAsLittleIsNoError) {
  auto all = ruled_windows(actions_, {.windows = 30});
  for (Experience& each : all) {
    each.costs.assign(4, 1.0);
  }
  const auto trained = train_classifier(all, actions_, {.kind = "lr", .held_out_graphs = {}});
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_EQ(trained->train.accuracy, 1);
  EXPECT_EQ(trained->train.best_fixed, 0U) << "the fallback among equals";
}

TEST_F(Scores, OfNothingAreNothing) {
  const auto all = ruled_windows(actions_, {.graphs = 1, .runs = 1, .windows = 30});
  const auto trained = train_classifier(all, actions_, {.kind = "lr", .held_out_graphs = {}});
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_EQ(trained->held_out_runs.windows, 0U);
  EXPECT_EQ(trained->held_out_runs.accuracy, 0);
  EXPECT_EQ(trained->held_out_runs.regret_oracle, 0);
}

class ClassifierFile : public testing::Test {
 protected:
  ActionSet actions_ = replace_actions();
  TemporaryDirectory folder_ = TemporaryDirectory::create("rudder-classifier").value();
  std::filesystem::path path_ = folder_.path() / "classifier.json";
};

TEST_F(ClassifierFile, DamagedForeignAndMismatchedOnesAreRefused) {
  const auto trained = train_classifier(ruled_windows(actions_, {.windows = 20}), actions_,
                                        {.kind = "lr", .held_out_graphs = {}});
  ASSERT_TRUE(trained->classifier.save(path_).ok());
  const auto good = nlohmann::json::parse(read_text(path_).value());
  ASSERT_TRUE(Classifier::load(path_, actions_).ok());
  const auto refuses = [&](const std::function<void(nlohmann::json&)>& damage, const std::string& message) {
    nlohmann::json json = good;
    damage(json);
    std::ofstream(path_) << json.dump();
    const auto loaded = Classifier::load(path_, actions_);
    ASSERT_FALSE(loaded.ok()) << message;
    EXPECT_EQ(loaded.error().code, Errc::kInvalidData);
    EXPECT_THAT(loaded.error().message, HasSubstr(path_.string()));
    EXPECT_THAT(loaded.error().message, HasSubstr(message));
  };
  refuses([](auto& json) { json = 5; }, "not a rudder-classifier of version 1");
  refuses([](auto& json) { json["version"] = 2; }, "not a rudder-classifier of version 1");
  refuses([](auto& json) { json["metrics"][0] = "hits"; }, "other metrics");
  refuses([](auto& json) { std::swap(json["metrics"][0], json["metrics"][1]); }, "other metrics");
  refuses([](auto& json) { json["action_set"] = "knobs-000000000000"; }, "action set \"knobs-000000000000\"");
  refuses([](auto& json) { json["action_set"] = 3; }, "action set 3");
  refuses([](auto& json) { json.erase("windows"); }, "'windows'");
  refuses([](auto& json) { json.erase("model"); }, "'kind'");
  refuses([](auto& json) { json["model"]["classes"] = 3; }, "12 columns and 3 classes, not 12 and 2");
  refuses([](auto& json) { json["model"]["linear"]["weights"][0] = nullptr; }, "'weights'[0]");
  std::ofstream(path_) << good.dump().substr(0, 200);
  EXPECT_FALSE(Classifier::load(path_, actions_).ok());
  EXPECT_FALSE(Classifier::load(folder_.path() / "none", actions_).ok());
}

TEST_F(ClassifierFile, AnotherKindThanTheDecidersIsRefused) {
  const auto trained = train_classifier(ruled_windows(actions_, {.windows = 20}), actions_,
                                        {.kind = "lr", .held_out_graphs = {}});
  ASSERT_TRUE(trained->classifier.save(path_).ok());
  const auto decider = make_decider("rf", {.actions = &actions_, .classifier = path_});
  ASSERT_FALSE(decider.ok());
  EXPECT_THAT(decider.error().message, HasSubstr("holds a classifier of kind 'lr'"));
}

TEST(Training, WhatCannotBeLearnedFromIsNamed) {
  const ActionSet actions = replace_actions();
  const auto refuses = [&](const std::function<void(Experience&)>& spoil, const std::string& message) {
    auto all = ruled_windows(actions, {.windows = 5});
    spoil(all[37]);  // window 2 of run 3 of graph 1
    const auto trained = train_classifier(all, actions, {.kind = "lr", .held_out_graphs = {}});
    ASSERT_FALSE(trained.ok()) << message;
    EXPECT_EQ(trained.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(trained.error().message, HasSubstr("window 2 of run 'run3'"));
    EXPECT_THAT(trained.error().message, HasSubstr(message));
  };
  refuses([](Experience& each) { each.action_set = four_knobs().key(); }, "it is of action set 'knobs-");
  refuses([](Experience& each) { each.costs.push_back(1); }, "3 costs");
  refuses([](Experience& each) { each.best = 2; }, "number 2");
  refuses([](Experience& each) { each.features[0] = std::numeric_limits<float>::infinity(); }, "not finite");
  EXPECT_FALSE(train_classifier({}, actions, {.held_out_graphs = {}}).ok());
  EXPECT_FALSE(
      train_classifier(ruled_windows(actions, {}), actions, {.kind = "tabnet", .held_out_graphs = {}}).ok());
}

}  // namespace
}  // namespace rudder::steer

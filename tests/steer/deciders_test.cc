// SPDX-License-Identifier: Apache-2.0
// The table of deciders, and those whose answers need no learning.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/clock.h"
#include "rudder/core/files.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/memory.h"

#include "steer/experiences.h"

namespace rudder::steer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::four_knobs;
using testing_support::hit_window;

class Deciders : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Decider> make(const std::string& spec, const ActionSet& actions) const {
    auto decider = make_decider(spec, {.actions = &actions});
    EXPECT_TRUE(decider.ok()) << decider.error().message;
    return std::move(decider).value();
  }
  void expect_refused(const std::string& spec, const ActionSet& actions, const std::string& message) const {
    const auto decider = make_decider(spec, {.actions = &actions});
    ASSERT_FALSE(decider.ok()) << spec;
    EXPECT_EQ(decider.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(decider.error().message, HasSubstr(message));
  }
  /// Answers for windows 0 to count - 1.
  static std::vector<std::size_t> answers(Decider& decider, std::uint64_t count) {
    std::vector<std::size_t> actions;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto decision = decider.decide(hit_window(i, 0.5), {});
      EXPECT_TRUE(decision.ok()) << decision.error().message;
      EXPECT_EQ(decision->sequence, i);
      actions.push_back(decision->action);
    }
    return actions;
  }

  ActionSet yes_no_ = replace_actions();
  ActionSet knobs_ = four_knobs();
};

TEST_F(Deciders, TheTableHasThemAllUnderTheirNames) {
  std::vector<std::string> names;
  for (const DeciderInfo& info : decider_table()) {
    names.emplace_back(info.name);
    EXPECT_FALSE(info.help.empty());
    EXPECT_NE(info.make, nullptr);
  }
  for (const char* name : {"never", "always", "fixed", "action", "rule", "bandit", "hedge", "nearest", "lr",
                           "svm", "mlp", "rf", "xgb", "replay"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

TEST_F(Deciders, NeverKeepsTheFallback) {
  EXPECT_THAT(answers(*make("never", yes_no_), 3), ElementsAre(0, 0, 0));
  knobs_.fallback = 2;
  EXPECT_THAT(answers(*make("never", knobs_), 2), ElementsAre(2, 2));
}

TEST_F(Deciders, AlwaysReplaces) {
  EXPECT_THAT(answers(*make("always", yes_no_), 3), ElementsAre(1, 1, 1));
  expect_refused("always", knobs_, "needs an action 'replace', which the action set 'knobs' has not");
}

TEST_F(Deciders, FixedReplacesBeforeEveryPthWindow) {
  EXPECT_THAT(answers(*make("fixed:3", yes_no_), 7), ElementsAre(0, 0, 1, 0, 0, 1, 0));
  EXPECT_THAT(answers(*make("fixed:1", yes_no_), 3), ElementsAre(1, 1, 1));
}

TEST_F(Deciders, FixedAskedSeldomMissesNoPeriod) {
  const auto decider = make("fixed:4", yes_no_);
  std::vector<std::size_t> actions;
  for (const std::uint64_t sequence : {0U, 2U, 5U, 6U, 20U, 21U}) {  // before windows 1, 3, 6, 7, 21, 22
    actions.push_back(decider->decide(hit_window(sequence, 0.5), {})->action);
  }
  EXPECT_THAT(actions, ElementsAre(0, 0, 1, 0, 1, 0));
}

TEST_F(Deciders, APeriodMustBeAWholeNumber) {
  expect_refused("fixed:0", yes_no_, "decider 'fixed:0': the period is not a whole number in 1..1000000");
  expect_refused("fixed:2.5", yes_no_, "fixed:2.5");
  expect_refused("fixed:1000001", yes_no_, "fixed:1000001");
  expect_refused("fixed", yes_no_, "needs P behind a colon: fixed:P");
  expect_refused("fixed:", yes_no_, "needs P behind a colon");
  expect_refused("fixed:2", knobs_, "needs an action 'skip'");
}

TEST_F(Deciders, ActionHoldsOneSetting) {
  EXPECT_THAT(answers(*make("action:" + knobs_.actions[3].name, knobs_), 2), ElementsAre(3, 3));
  expect_refused("action:replac", yes_no_, "did you mean 'replace'?");
  expect_refused("action:depth9", yes_no_, "it has skip, replace");
  expect_refused("action", yes_no_, "needs NAME");
}

TEST_F(Deciders, SpecsAreChecked) {
  expect_refused("hedg", yes_no_, "unknown decider 'hedg' (did you mean 'hedge'?)");
  expect_refused("", yes_no_, "unknown decider ''");
  expect_refused("never:2", yes_no_, "takes nothing behind a colon, not '2'");
  expect_refused("never:", yes_no_, "takes nothing");
  expect_refused("nearest", yes_no_, "needs a memory");
  expect_refused("rf", yes_no_, "decider 'rf' needs the file of a trained classifier");
}

TEST_F(Deciders, HowLongADecisionTookIsMeasured) {
  class Ticking final : public Clock {
   public:
    [[nodiscard]] TimePoint now() const override { return TimePoint(std::chrono::seconds(++calls_)); }
    void sleep_until(TimePoint /*when*/) override {}

   private:
    mutable int calls_ = 0;
  };
  const Ticking clock;
  const auto decider = make_decider("never", {.actions = &yes_no_, .clock = &clock});
  EXPECT_EQ((*decider)->decide(hit_window(0, 0.5), {})->seconds, 1);
}

class Replay : public Deciders {
 protected:
  void write(const std::string& text) const { std::ofstream(path_, std::ios::trunc) << text; }

  TemporaryDirectory folder_ = TemporaryDirectory::create("rudder-replay").value();
  std::filesystem::path path_ = folder_.path() / "decisions.jsonl";
};

TEST_F(Replay, SetsWhatWasSet) {
  write(R"({"sequence": 3, "verdict": "applied", "applied": "replace", "staleness": 0})"
        "\n"
        R"({"sequence": 4, "verdict": "no_trigger", "applied": "skip"})"
        "\n"
        R"({"sequence": 7, "applied": "replace"})"
        "\n"
        R"({"sequence": 8, "appl)");
  const auto decider = make("replay:" + path_.string(), yes_no_);
  EXPECT_EQ(decider->decide(hit_window(3, 0.5), {})->action, 1U);
  EXPECT_EQ(decider->decide(hit_window(4, 0.5), {})->action, 0U);
  EXPECT_EQ(decider->decide(hit_window(7, 0.5), {})->action, 1U);
  for (const std::uint64_t sequence : {0U, 5U, 8U}) {
    const auto decision = decider->decide(hit_window(sequence, 0.5), {});
    ASSERT_FALSE(decision.ok());
    EXPECT_EQ(decision.error().code, Errc::kNotFound);
    EXPECT_THAT(decision.error().message, HasSubstr("no decision at window " + std::to_string(sequence)));
  }
}

TEST_F(Replay, LinesThatAreNoDecisionsAreNamed) {
  const auto refuses = [&](const std::string& text, const std::string& message) {
    write(text);
    const auto decider = make_decider("replay:" + path_.string(), {.actions = &yes_no_});
    ASSERT_FALSE(decider.ok()) << text;
    EXPECT_THAT(decider.error().message, HasSubstr(path_.string()));
    EXPECT_THAT(decider.error().message, HasSubstr(message));
  };
  const std::string good = "{\"sequence\": 1, \"applied\": \"skip\"}\n";
  refuses("\n", "line 1: not a decision");
  refuses(good + "[]\n", "line 2: not a decision");
  refuses(good + "{\"sequence\": -2, \"applied\": \"skip\"}\n", "line 2: not a decision");
  refuses(good + "{\"sequence\": 2, \"applied\": 1}\n", "line 2: not a decision");
  refuses(good + good, "line 2: window 1 comes after window 1");
  refuses(good + "{\"sequence\": 2, \"applied\": \"skp\"}\n", "did you mean 'skip'?");
  refuses(std::string(100'000, '[') + "\n", "line 1: not a decision");
  EXPECT_FALSE(make_decider("replay:" + path_.string() + ".none", {.actions = &yes_no_}).ok());
}

}  // namespace
}  // namespace rudder::steer

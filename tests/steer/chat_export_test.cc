// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/chat_export.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rudder::steer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Windows of a run that replaced in every other one. The best action follows the hit rate's level; every
/// window's effect is another one.
class ChatExportTest : public ::testing::Test {
 protected:
  std::vector<Experience> run_of(const std::string& name, std::size_t count) const {
    std::vector<Experience> run;
    for (std::size_t i = 0; i < count; ++i) {
      Experience each;
      each.run = name;
      each.graph = "graph";
      each.action_set = actions_.key();
      each.sequence = i;
      each.features[kHitRate] = i % 3 == 0 ? 0.9F : 0.1F;
      each.report.sequence = i;
      each.report.action = i % 2 == 0 ? "skip" : "replace";
      each.report.levels.fill(Level::kMedium);
      each.report.levels[kHitRate] = i % 3 == 0 ? Level::kHigh : Level::kLow;
      each.best = i % 3 == 0 ? 0 : 1;
      each.costs = {2, 2};
      each.costs[each.best] = 1;
      each.observed = Expected{static_cast<Direction>(i % 3), Direction::kStagnant};
      each.decision = Decision{.sequence = i, .action = (i + 1) % 2};
      run.push_back(each);
    }
    return run;
  }

  ActionSet actions_ = replace_actions();
};

TEST_F(ChatExportTest, AnswersAreOfTheFormThatIsAskedForAndTheBest) {
  std::vector<Experience> all = run_of("a", 12);
  const std::vector<Experience> other = run_of("b", 12);
  all.insert(all.end(), other.begin(), other.end());
  const auto chats = export_chats(all, all, actions_, {});
  ASSERT_TRUE(chats.ok()) << chats.error().message;
  ASSERT_FALSE(chats->examples.empty());
  EXPECT_EQ(chats->examples.size() + chats->unseen_effects, all.size());
  for (const ChatExample& example : chats->examples) {
    const Experience& window = all[example.window];
    ASSERT_EQ(example.messages.back().role, "assistant");
    const auto reply = parse_reply(example.messages.back().content, actions_);
    ASSERT_TRUE(reply.ok()) << example.messages.back().content;
    EXPECT_TRUE(reply->strict) << example.messages.back().content;
    EXPECT_EQ(reply->action, window.best);
    EXPECT_EQ(reply->expected, window.observed);
    EXPECT_THAT(reply->reason, HasSubstr(window.best == 0 ? "hits high" : "hits low"));
    EXPECT_EQ(all[example.window + 1].report.action, actions_.actions[window.best].name);
    for (std::size_t i = 0; i < example.messages.size(); ++i) {
      EXPECT_EQ(example.messages[i].role, i == 0 ? "system" : i % 2 == 1 ? "user" : "assistant");
    }
  }
}

TEST_F(ChatExportTest, ThePromptIsTheOneOfARunAndShowsOtherRunsAlone) {
  const std::vector<Experience> a = run_of("a", 8);
  ChatExportOptions options;
  options.demonstrations = 3;
  const auto alone = export_chats(a, a, actions_, options);
  ASSERT_TRUE(alone.ok());
  for (const ChatExample& example : alone->examples) {
    const auto prompt = make_prompt(actions_, {}, history_of(a, example.window, actions_),
                                    a[example.window].report, options.prompt);
    ASSERT_EQ(prompt->size() + 1, example.messages.size()) << "its own run is not shown";
    for (std::size_t i = 0; i < prompt->size(); ++i) {
      EXPECT_EQ((*prompt)[i].content, example.messages[i].content);
    }
  }
  const auto with = export_chats(a, run_of("b", 8), actions_, options);
  ASSERT_TRUE(with.ok());
  ASSERT_EQ(with->examples.size(), alone->examples.size());
  for (std::size_t i = 0; i < with->examples.size(); ++i) {
    EXPECT_EQ(with->examples[i].messages.size(), alone->examples[i].messages.size() + 6);
  }
}

TEST_F(ChatExportTest, HistoryTellsOfObeyedDecisionsOfThePassAtHand) {
  std::vector<Experience> run = run_of("a", 9);
  // All were obeyed: the window behind each ran under its action. The last five are told.
  EXPECT_THAT(history_of(run, 8, actions_),
              ElementsAre(Episode{"skip", *run[3].observed}, Episode{"replace", *run[4].observed},
                          Episode{"skip", *run[5].observed}, Episode{"replace", *run[6].observed},
                          Episode{"skip", *run[7].observed}));
  EXPECT_TRUE(history_of(run, 0, actions_).empty());
  run[2].report.action = "skip";  // the decision of window 1 was "skip" as it is: obeyed; of 0: "replace"
  run[1].report.action = "skip";  // was not
  EXPECT_THAT(history_of(run, 2, actions_), ElementsAre(Episode{"skip", *run[1].observed}));
  std::vector<Experience> twice = run_of("a", 3);
  const std::vector<Experience> again = run_of("a", 3);
  twice.insert(twice.end(), again.begin(), again.end());
  EXPECT_EQ(history_of(twice, 4, actions_).size(), 1U) << "the first pass is another world";
}

TEST_F(ChatExportTest, LeavesOutWhatIsAskedTo) {
  std::vector<Experience> run = run_of("a", 12);
  run[5].costs[1 - run[5].best] = 1.05;
  ChatExportOptions options;
  options.unseen_effects = true;
  const auto all = export_chats(run, run, actions_, options);
  ASSERT_EQ(all->examples.size(), run.size());
  std::size_t complete = 0;
  for (const ChatExample& example : all->examples) {
    complete += example.complete ? 1 : 0;
    EXPECT_EQ(parse_reply(example.messages.back().content, actions_)->expected.has_value(), example.complete);
  }
  options.unseen_effects = false;
  EXPECT_EQ(export_chats(run, run, actions_, options)->examples.size(), complete);
  options.unseen_effects = true;
  options.least_benefit = 0.1;
  const auto telling = export_chats(run, run, actions_, options);
  EXPECT_EQ(telling->too_little_benefit, 1U);
  EXPECT_EQ(telling->examples.size(), run.size() - 1);
}

TEST_F(ChatExportTest, ALineIsAChatAndTellsMoreOnRequest) {
  const std::vector<Experience> run = run_of("a", 6);
  const auto chats = export_chats(run, run, actions_, {.prompt = {.language = "zh"}});
  const ChatExample& example = chats->examples.front();
  const std::string plain = json_of(example, nullptr, actions_);
  EXPECT_EQ(plain.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(plain);
  EXPECT_EQ(json.size(), 1U);
  EXPECT_EQ(json["messages"].size(), example.messages.size());
  EXPECT_EQ(json["messages"][0]["role"], "system");
  EXPECT_EQ(json["messages"].back()["content"], example.messages.back().content);
  const auto told = nlohmann::json::parse(json_of(example, &run[example.window], actions_));
  EXPECT_EQ(told["metadata"]["run"], "a");
  EXPECT_EQ(told["metadata"]["action"], actions_.actions[run[example.window].best].name);
  EXPECT_EQ(told["metadata"]["costs"]["skip"], run[example.window].costs[0]);
  EXPECT_FALSE(export_chats(run, run, actions_, {.prompt = {.language = "fr"}}).ok());
}

}  // namespace
}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// The model's decider with a model that says what the test tells it to: whatever comes, it answers with a
// decision or an error, within its time.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/clock.h"
#include "rudder/core/rng.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/prompt.h"

#include "steer/action_sets.h"
#include "steer/listed_memory.h"
#include "steer/scripted_model.h"
#include "steer/told_windows.h"

namespace rudder::steer {

namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing_support::experience;
using testing_support::fed;
using testing_support::ListedMemory;
using testing_support::ScriptedModel;
using testing_support::starved;

constexpr const char* kReplaceReply =
    R"({"decision": "replace", "reason": "hits fell", "expected": {"hits": "increase", "traffic": "decrease"}})";
constexpr const char* kSkipReply =
    R"({"decision": "skip", "reason": "fed", "expected": {"hits": "stagnant", "traffic": "stagnant"}})";

/// Tokens that say kReplaceReply or kSkipReply with that probability.
llm::ChatReply told(const char* text, double probability) {
  const std::string whole = text;
  const std::string word = whole.find("\"replace\"") < whole.find("\"reason\"") ? "replace" : "skip";
  const std::string other = word == "skip" ? "replace" : "skip";
  const std::size_t at = whole.find(word);
  llm::ChatReply reply;
  reply.text = whole;
  reply.tokens = {{whole.substr(0, at), {}},
                  {word, {{word, probability}, {other, 1 - probability}}},
                  {whole.substr(at + word.size()), {}}};
  return reply;
}

class LlmDeciderTest : public testing::Test {
 protected:
  DeciderContext context() {
    DeciderContext of;
    of.actions = &actions_;
    of.memory = &memory_;
    of.model = &model_;
    of.clock = &clock_;
    of.job = "job 7";
    of.seed = 5;
    return of;
  }
  std::unique_ptr<Decider> decider(const DeciderContext& of) {
    auto made = make_decider("llm", of);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }
  std::unique_ptr<Decider> decider() { return decider(context()); }

  /// A window of 10 batches with 100 requests and so many hits; what misses is fetched.
  static Window window(std::uint64_t sequence, std::uint64_t hits = 50, std::size_t action = 0) {
    Window of;
    of.sequence = sequence;
    of.first = sequence * 10;
    of.end = of.first + 10;
    of.action = action;
    of.counts = {100, hits, 100 - hits, 0};
    return of;
  }
  static LabelledWindow labelled(const Window& window, std::size_t best) {
    LabelledWindow of{window, {2, 2}, best};
    of.costs[best] = 1;
    return of;
  }
  /// All that the model was told last, apart from the rules.
  std::string asked_last() {
    std::string text;
    for (const llm::Message& message : model_.asked.back().messages) {
      text += message.role == "system" ? "" : message.role + ": " + message.content + "\n";
    }
    return text;
  }

  ActionSet actions_ = replace_actions();
  FakeClock clock_;
  ScriptedModel model_{clock_};
  ListedMemory memory_{{experience(actions_, starved(), 1), experience(actions_, fed(), 0)}};
};

TEST_F(LlmDeciderTest, AsksWithFormTimeAndDemonstrations) {
  model_.says(kSkipReply);
  const auto decided = decider()->decide(window(3), starved());
  ASSERT_TRUE(decided.ok()) << decided.error().message;
  ASSERT_EQ(model_.asked.size(), 1U);
  const llm::ChatRequest& request = model_.asked[0];
  EXPECT_EQ(request.json_schema, reply_schema(actions_));
  EXPECT_EQ(request.grammar, reply_grammar(actions_, {}));
  EXPECT_EQ(request.max_tokens, reply_tokens(actions_, {}));
  EXPECT_EQ(request.temperature, 0);
  EXPECT_EQ(request.seed, 5U);
  EXPECT_EQ(request.job, "job 7");
  EXPECT_EQ(request.timeout, context().model_timeout);
  EXPECT_EQ(request.messages.front().role, "system");
  EXPECT_THAT(asked_last(), HasSubstr("assistant: {\"decision\": \"replace\"}\n"));
}

TEST_F(LlmDeciderTest, DecidesAsTheModelSays) {
  model_.says(told(kReplaceReply, 0.8));
  model_.takes(milliseconds(350));
  const auto decided = decider()->decide(window(3), starved());
  ASSERT_TRUE(decided.ok());
  EXPECT_EQ(decided->sequence, 3U);
  EXPECT_EQ(decided->action, 1U);
  EXPECT_NEAR(decided->confidence, 0.8, 1e-9);
  EXPECT_EQ(decided->reason, "hits fell");
  EXPECT_EQ(decided->expected, (Expected{Direction::kIncrease, Direction::kDecrease}));
  EXPECT_NEAR(decided->seconds, 0.35, 1e-9);
  EXPECT_TRUE(decided->from_model);
  EXPECT_TRUE(decided->valid_reply);
}

TEST_F(LlmDeciderTest, ReplyThatDoesNotParseIsTheFallbackAndNamesTheModel) {
  actions_.fallback = 1;
  auto asked = decider();
  for (const char* garbage :
       {"", "yes and no", "{\"decision\": \"wait\"}", "{\"decision\": \"repl", "\xFF\xFE"}) {
    model_.says(garbage);
  }
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto decided = asked->decide(window(i), starved());
    ASSERT_TRUE(decided.ok());
    EXPECT_TRUE(decided->from_model);
    EXPECT_FALSE(decided->valid_reply);
    EXPECT_EQ(decided->action, 1U);
    EXPECT_EQ(decided->confidence, 0);
    EXPECT_THAT(decided->reason, HasSubstr("model scripted: "));
  }
}

TEST_F(LlmDeciderTest, ErrorsOfTheModelAreErrorsThatNameIt) {
  for (const Errc code : {Errc::kPeer, Errc::kTimeout, Errc::kInvalidArgument, Errc::kCancelled}) {
    ScriptedModel failing(clock_);
    failing.fails(code, "connection refused");
    DeciderContext of = context();
    of.model = &failing;
    const auto decided = decider(of)->decide(window(1), starved());
    ASSERT_FALSE(decided.ok());
    EXPECT_EQ(decided.error().code, code);
    EXPECT_EQ(decided.error().message, "model scripted: connection refused");
  }
}

TEST_F(LlmDeciderTest, NeverTakesLongerThanItsTime) {
  model_.says(kSkipReply);
  model_.takes(from_seconds(100));
  DeciderContext of = context();
  of.model_timeout = from_seconds(2);
  memory_.before = [&] { clock_.advance(milliseconds(500)); };
  auto asked = decider(of);
  const TimePoint begin = clock_.now();
  const auto decided = asked->decide(window(1), starved());
  ASSERT_FALSE(decided.ok());
  EXPECT_EQ(decided.error().code, Errc::kTimeout);
  EXPECT_EQ(clock_.now() - begin, from_seconds(2)) << "the memory's time counts";
}

TEST_F(LlmDeciderTest, IsNotAskedWhenTheMemoryTookAllOfTheTime) {
  model_.says(kSkipReply);
  memory_.before = [&] { clock_.advance(from_seconds(11)); };
  const auto decided = decider()->decide(window(1), starved());
  ASSERT_FALSE(decided.ok());
  EXPECT_EQ(decided.error().code, Errc::kTimeout);
  EXPECT_TRUE(model_.asked.empty());
}

TEST_F(LlmDeciderTest, ErrorOfTheMemoryIsTheError) {
  memory_.error = Error{Errc::kIo, "memory.db: disk full"};
  const auto decided = decider()->decide(window(1), starved());
  ASSERT_FALSE(decided.ok());
  EXPECT_EQ(decided.error().message, "memory.db: disk full");
  EXPECT_TRUE(model_.asked.empty());
}

TEST_F(LlmDeciderTest, WorksWithoutMemoryOrDemonstrations) {
  model_.says(kSkipReply);
  DeciderContext of = context();
  of.memory = nullptr;
  EXPECT_TRUE(decider(of)->decide(window(1), starved()).ok());
  EXPECT_THAT(asked_last(), Not(HasSubstr("assistant")));
  of = context();
  of.demonstrations = 0;
  EXPECT_TRUE(decider(of)->decide(window(1), starved()).ok());
  EXPECT_THAT(asked_last(), Not(HasSubstr("assistant")));
}

TEST_F(LlmDeciderTest, ShowsAnotherActionWhenThereIsOneNotFarAway) {
  model_.says(kSkipReply);
  const auto farthest_with = [&](std::size_t other_at) {
    std::vector<Experience> list(30, experience(actions_, starved(), 1));
    list[other_at] = experience(actions_, fed(), 0);
    ListedMemory memory(list);
    DeciderContext of = context();
    of.memory = &memory;
    of.demonstrations = 3;
    EXPECT_TRUE(decider(of)->decide(window(1), starved()).ok());
    const std::string text = asked_last();
    return text.find("\"skip\"") < text.find("\"replace\"") ? "skip" : "replace";
  };
  EXPECT_EQ(farthest_with(11), "skip") << "within the 12 looked through: the farthest shown";
  EXPECT_EQ(farthest_with(12), "replace");
}

TEST_F(LlmDeciderTest, LeavesOutExperiencesOfNoAction) {
  model_.says(kSkipReply);
  Experience odd = experience(actions_, starved(), 1);
  odd.best = 7;
  ListedMemory memory({odd, experience(actions_, fed(), 0)});
  DeciderContext of = context();
  of.memory = &memory;
  EXPECT_TRUE(decider(of)->decide(window(1), starved()).ok());
  EXPECT_THAT(asked_last(), Not(HasSubstr("{\"decision\": \"replace\"}")));
}

TEST_F(LlmDeciderTest, TellsWhatCameOfItsLastDecisions) {
  model_.says(kReplaceReply);
  auto asked = decider();
  asked->learn(labelled(window(0, 50), 1));
  ASSERT_TRUE(asked->decide(window(0), starved()).ok());
  EXPECT_THAT(asked_last(), Not(HasSubstr("oldest first")));
  asked->learn(labelled(window(1, 80, 1), 1));
  ASSERT_TRUE(asked->decide(window(1), starved()).ok());
  EXPECT_THAT(asked_last(), HasSubstr("oldest first: replace (hits up, traffic down)\n"));
  asked->learn(labelled(window(2, 30, 1), 1));
  ASSERT_TRUE(asked->decide(window(2), starved()).ok());
  EXPECT_THAT(asked_last(),
              HasSubstr("oldest first: replace (hits up, traffic down); replace (hits down, traffic up)\n"));
}

TEST_F(LlmDeciderTest, TellsNoEffectOfADecisionThatWasDropped) {
  model_.says(kReplaceReply);
  auto asked = decider();
  for (std::uint64_t i = 0; i < 8; ++i) {
    asked->learn(labelled(window(i, 10 + 10 * i, 0), 0));
    ASSERT_TRUE(asked->decide(window(i), starved()).ok());
    EXPECT_THAT(asked_last(), Not(HasSubstr("oldest first")));
  }
}

TEST_F(LlmDeciderTest, TellsOfFiveDecisionsAtMost) {
  model_.says(kSkipReply);
  auto asked = decider();
  for (std::uint64_t i = 0; i < 20; ++i) {
    asked->learn(labelled(window(i), 0));
    ASSERT_TRUE(asked->decide(window(i), fed()).ok());
  }
  EXPECT_THAT(asked_last(), HasSubstr("oldest first: skip x5 (hits same, traffic same)\n"));
}

TEST_F(LlmDeciderTest, ConfidenceBecomesWhatItIsWorth) {
  model_.says(told(kReplaceReply, 0.95));
  auto asked = decider();
  double confidence = 1;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto decided = asked->decide(window(i), starved());
    ASSERT_TRUE(decided.ok());
    confidence = decided->confidence;
    asked->learn(labelled(window(i + 1), i % 2));  // right half of the time
  }
  EXPECT_NEAR(confidence, 0.5, 0.1);
}

TEST_F(LlmDeciderTest, ActionsThatCostTheSameAreEquallyRight) {
  model_.says(told(kReplaceReply, 0.6));
  auto asked = decider();
  double confidence = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto decided = asked->decide(window(i), starved());
    ASSERT_TRUE(decided.ok());
    confidence = decided->confidence;
    asked->learn({window(i + 1), {1, 1}, 0});
  }
  EXPECT_GT(confidence, 0.9);
}

TEST_F(LlmDeciderTest, LetsTheModelReasonWhenTold) {
  model_.says(std::string("<think>stale, so {\"decision\": \"skip\"}? no</think>\n") + kReplaceReply);
  DeciderContext of = context();
  of.reasoning = true;
  const auto decided = decider(of)->decide(window(1), starved());
  ASSERT_TRUE(decided.ok());
  EXPECT_EQ(decided->action, 1U);
  PromptOptions options;
  options.reasoning = true;
  EXPECT_EQ(model_.asked[0].json_schema, "");
  EXPECT_EQ(model_.asked[0].grammar, reply_grammar(actions_, options));
  EXPECT_THAT(model_.asked[0].messages[0].content, HasSubstr("<think>"));
}

TEST_F(LlmDeciderTest, SpeaksChinese) {
  model_.says("{\"决定\": \"替换\", \"理由\": \"命中低\"}");
  DeciderContext of = context();
  of.language = "zh";
  const auto decided = decider(of)->decide(window(1), starved());
  ASSERT_TRUE(decided.ok());
  EXPECT_EQ(decided->action, 1U);
  EXPECT_THAT(asked_last(), HasSubstr("命中 低，停顿 高"));
}

TEST_F(LlmDeciderTest, BearsRepliesOfAnyBytes) {
  auto asked = decider();
  std::uint32_t valid = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CounterRng rng({seed, 11});
    llm::ChatReply reply;
    for (std::uint64_t i = rng.below(30); i > 0; --i) {
      llm::Token token;
      for (std::uint64_t j = rng.below(4); j > 0; --j) {
        token.text += static_cast<char>(static_cast<unsigned char>(rng.below(256)));
      }
      token.choices.resize(rng.below(3), {token.text, rng.unit() * 3 - 1});
      reply.text += token.text;
      reply.tokens.push_back(token);
    }
    ScriptedModel model(clock_);
    model.says(reply);
    DeciderContext of = context();
    of.model = &model;
    const auto decided = decider(of)->decide(window(seed), starved());
    ASSERT_TRUE(decided.ok());
    EXPECT_TRUE(decided->from_model);
    EXPECT_LT(decided->action, actions_.actions.size());
    valid += decided->valid_reply ? 1U : 0U;
  }
  EXPECT_LT(valid, 10U);
}

TEST_F(LlmDeciderTest, RefusesWhatCannotWork) {
  const auto refusal = [&](auto change) {
    DeciderContext of = context();
    change(of);
    const auto made = make_decider("llm", of);
    return made.ok() ? std::string("made") : made.error().message;
  };
  EXPECT_THAT(refusal([](DeciderContext& of) { of.model = nullptr; }), HasSubstr("needs a language model"));
  EXPECT_THAT(refusal([](DeciderContext& of) { of.language = "fr"; }), HasSubstr("'fr'"));
  EXPECT_THAT(refusal([](DeciderContext& of) { of.demonstrations = 65; }), HasSubstr("65 demonstrations"));
  EXPECT_THAT(refusal([](DeciderContext& of) { of.model_timeout = Duration::zero(); }),
              HasSubstr("timeout of 0 s"));
}

}  // namespace
}  // namespace rudder::steer

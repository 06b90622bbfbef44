// SPDX-License-Identifier: Apache-2.0
// Confidence from token probabilities, worked out by hand.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/steer/prompt.h"

#include "steer/action_sets.h"

namespace rudder::steer {
namespace {

using Choices = std::vector<llm::Token::Choice>;

/// A token that is certain, as those that a grammar leaves no choice are.
llm::Token sure(const std::string& text) {
  return {text, {{text, 1.0}}};
}

llm::ChatReply reply_of(std::vector<llm::Token> tokens) {
  llm::ChatReply reply;
  for (const llm::Token& token : tokens) {
    reply.text += token.text;
  }
  reply.tokens = std::move(tokens);
  return reply;
}

double confidence(std::vector<llm::Token> tokens, const ActionSet& actions, const char* action) {
  return confidence_of(reply_of(std::move(tokens)), actions, actions.find(action));
}

TEST(Confidence, IsTheNamesShareOfWhatWouldHaveBeenAnAction) {
  // replace .6, skip .2, and .2 for words that are no action: .6 / .8.
  EXPECT_NEAR(confidence({sure("{\""),
                          sure("decision"),
                          sure("\":"),
                          sure(" \""),
                          {"replace", {{"replace", 0.6}, {"skip", 0.2}, {"Hello", 0.15}, {"\n", 0.05}}},
                          sure("\"}")},
                         replace_actions(), "replace"),
              0.75, 1e-12);
}

TEST(Confidence, CountsAllSpellingsAndAllCutsOfAName) {
  // For replace: re .3, replace .1, "Yes" .1; for skip: sk .2, no .05; 'no more' is neither's beginning.
  EXPECT_NEAR(
      confidence(
          {sure("{\"decision\": \""),
           {"re", {{"re", 0.3}, {"sk", 0.2}, {"replace", 0.1}, {"Yes", 0.1}, {"no", 0.05}, {"no more", 0.2}}},
           sure("place"),
           sure("\"}")},
          replace_actions(), "replace"),
      0.5 / 0.75, 1e-12);
}

TEST(Confidence, MultipliesTheTokensUntilTheNamesDiffer) {
  const ActionSet knobs = testing_support::knobs();
  // depth2-... or depth16-...; then fullrate or rate500k.
  const std::vector<llm::Token> tokens = {sure("{\"decision\": \""),
                                          sure("depth"),
                                          {"16", {{"16", 0.7}, {"2", 0.2}, {"1", 0.1}}},
                                          sure("-"),
                                          {"full", {{"full", 0.9}, {"rate", 0.1}}},
                                          {"rate", {{"rate", 0.5}, {"x", 0.5}}},
                                          sure("\"}")};
  // Mine .7 * .9; others .2 + .7 * .1; "1" would have become either depth16 and says nothing.
  EXPECT_NEAR(confidence(tokens, knobs, "depth16-fullrate"), 0.63 / (0.63 + 0.2 + 0.07), 1e-12);
}

TEST(Confidence, LooksAtTheDecisionNotAtTheSameWordElsewhere) {
  EXPECT_NEAR(confidence({sure("{\"reason\": \""),
                          {"skip", {{"skip", 0.01}, {"replace", 0.99}}},
                          sure("\", \"decision\": \""),
                          {"skip", {{"skip", 0.8}, {"replace", 0.2}}},
                          sure("\"}")},
                         replace_actions(), "skip"),
              0.8, 1e-12);
}

TEST(Confidence, TokensMayHoldMoreThanTheName) {
  EXPECT_NEAR(
      confidence({sure("{\"decision\":"),
                  {" \"skip\",", {{" \"skip\",", 0.5}, {" \"replace\",", 0.25}, {"\"replace\",", 0.25}}},
                  sure(" \"reason\": \"\"}")},
                 replace_actions(), "skip"),
      0.5, 1e-12);
}

TEST(Confidence, NameThatBeginsAnotherIsToldByWhatFollows) {
  ActionSet actions = testing_support::knobs();
  actions.actions[0].name = "depth1";
  actions.actions[1].name = "depth16";
  actions.actions.resize(2);
  EXPECT_NEAR(confidence({sure("{\"decision\": \""), sure("depth1"), {"\"}", {{"\"}", 0.9}, {"6\"}", 0.1}}}},
                         actions, "depth1"),
              0.9, 1e-12);
  EXPECT_NEAR(
      confidence({sure("{\"decision\": \""), sure("depth1"), {"6", {{"\"}", 0.9}, {"6", 0.1}}}, sure("\"}")},
                 actions, "depth16"),
      0.1, 1e-12);
}

TEST(Confidence, IsOneWhenTheModelTellsNothing) {
  const ActionSet actions = replace_actions();
  llm::ChatReply reply;
  reply.text = R"({"decision": "skip"})";
  EXPECT_EQ(confidence_of(reply, actions, 0), 1);
  EXPECT_EQ(confidence({{"{\"decision\": \"skip\"}", {}}}, actions, "skip"), 1) << "tokens without choices";
  EXPECT_EQ(confidence({sure("no decision here")}, actions, "skip"), 1);
}

TEST(Confidence, HasNoFaithInProbabilitiesOfOthers) {
  const ActionSet actions = replace_actions();
  const auto of = [&](Choices choices) {
    return confidence({sure("{\"decision\": \""), {"skip", std::move(choices)}, sure("\"}")}, actions,
                      "skip");
  };
  EXPECT_NEAR(of({{"skip", 7}, {"replace", 1}}), 0.5, 1e-12);
  EXPECT_NEAR(of({{"skip", -1}, {"replace", 0.5}}), 0, 1e-12);
  EXPECT_NEAR(of({{"skip", std::numeric_limits<double>::quiet_NaN()}, {"replace", 0.5}}), 0, 1e-12);
  EXPECT_NEAR(of({{"replace", 0.75}}), 0.25, 1e-12) << "the chosen one is not among them: what is left";
  EXPECT_NEAR(of({{"skip", 0}, {"replace", 0}}), 1, 1e-12);
}

TEST(Confidence, IsWithinBoundsForAnyTokens) {
  const ActionSet actions = testing_support::knobs();
  const std::vector<std::string> texts = {
      "{\"decision\": \"", "depth", "16", "2", "-", "full", "rate", "500k", "\"}", "", " "};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CounterRng rng({seed, 8});
    std::vector<llm::Token> tokens = {sure(texts[0])};
    for (std::uint64_t i = rng.below(9); i > 0; --i) {
      llm::Token token{texts[rng.below(texts.size())], {}};
      for (std::uint64_t j = rng.below(4); j > 0; --j) {
        token.choices.push_back({texts[rng.below(texts.size())], rng.unit()});
      }
      tokens.push_back(token);
    }
    const double told = confidence_of(reply_of(tokens), actions, rng.below(5));
    EXPECT_GE(told, 0);
    EXPECT_LE(told, 1);
  }
}

}  // namespace
}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// Schema, grammar and parser speak of the same replies.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/core/rng.h"
#include "rudder/steer/prompt.h"

#include "steer/action_sets.h"
#include "steer/golden.h"
#include "support/reference_grammar.h"
#include "support/reference_schema.h"

namespace rudder::steer {
namespace {

using nlohmann::json;
using rudder::testing_support::matches;
using rudder::testing_support::ReferenceGrammar;
using testing_support::golden;

PromptOptions with_reasoning() {
  PromptOptions options;
  options.reasoning = true;
  return options;
}

TEST(ReplyForm, IsWhatTheGoldenFilesSay) {
  EXPECT_EQ(json::parse(reply_schema(replace_actions())).dump(2) + "\n",
            golden("schema_replace.json", json::parse(reply_schema(replace_actions())).dump(2) + "\n"));
  EXPECT_EQ(reply_grammar(replace_actions(), {}),
            golden("replace.gbnf", reply_grammar(replace_actions(), {})));
  const std::string knobs = reply_grammar(testing_support::knobs(), with_reasoning());
  EXPECT_EQ(knobs, golden("knobs_reasoning.gbnf", knobs));
}

TEST(ReplyForm, EverySentenceOfTheGrammarIsOfTheSchemaAndParsesStrictly) {
  for (const ActionSet& actions : {replace_actions(), testing_support::knobs()}) {
    const json schema = json::parse(reply_schema(actions));
    for (const PromptOptions& options : {PromptOptions(), with_reasoning()}) {
      const ReferenceGrammar grammar(reply_grammar(actions, options));
      for (std::uint64_t seed = 0; seed < 500; ++seed) {
        CounterRng rng({seed, 5});
        const std::string reply = grammar.sentence(rng);
        const std::size_t object = options.reasoning ? reply.find("</think>\n") + 9 : 0;
        const json value = json::parse(reply.substr(object));
        EXPECT_TRUE(matches(value, schema)) << reply;
        const auto parsed = parse_reply(reply, actions);
        ASSERT_TRUE(parsed.ok()) << reply << "\n" << parsed.error().message;
        EXPECT_TRUE(parsed->strict) << reply;
        EXPECT_EQ(actions.actions[parsed->action].name, value["decision"]);
        EXPECT_TRUE(parsed->expected.has_value());
      }
    }
  }
}

TEST(ReplyForm, TheLongestSentenceIsWithinTheTokens) {
  for (const ActionSet& actions : {replace_actions(), testing_support::knobs()}) {
    for (const PromptOptions& options : {PromptOptions(), with_reasoning()}) {
      CounterRng rng(7);
      const std::string longest = ReferenceGrammar(reply_grammar(actions, options)).sentence(rng, true);
      EXPECT_EQ(longest.size(), reply_tokens(actions, options)) << longest;
    }
  }
}

TEST(ReplyForm, SchemaRefusesWhatIsNotOfTheForm) {
  const json schema = json::parse(reply_schema(replace_actions()));
  json reply = {
      {"decision", "skip"}, {"reason", ""}, {"expected", {{"hits", "increase"}, {"traffic", "stagnant"}}}};
  EXPECT_TRUE(matches(reply, schema));
  json other = reply;
  other["decision"] = "no";
  EXPECT_FALSE(matches(other, schema));
  other = reply;
  other["reason"] = std::string(61, 'a');
  EXPECT_FALSE(matches(other, schema));
  other = reply;
  other.erase("expected");
  EXPECT_FALSE(matches(other, schema));
  other = reply;
  other["further"] = 1;
  EXPECT_FALSE(matches(other, schema));
  other = reply;
  other["expected"]["hits"] = "up";
  EXPECT_FALSE(matches(other, schema));
}

}  // namespace
}  // namespace rudder::steer

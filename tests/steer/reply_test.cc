// SPDX-License-Identifier: Apache-2.0
// Every shape of reply that was seen or is to be feared, with the one right answer to each.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/steer/prompt.h"

#include "steer/action_sets.h"

namespace rudder::steer {
namespace {

using testing::HasSubstr;

struct Shape {
  const char* name;
  std::string reply;
  const char* answer;  ///< null: refused
};

class ReplyShapes : public testing::TestWithParam<Shape> {};

TEST_P(ReplyShapes, HaveOneRightAnswer) {
  const ActionSet actions = replace_actions();
  const auto parsed = parse_reply(GetParam().reply, actions);
  if (GetParam().answer == nullptr) {
    ASSERT_FALSE(parsed.ok()) << "taken as " << actions.actions[parsed->action].name;
    EXPECT_EQ(parsed.error().code, Errc::kInvalidData);
    EXPECT_FALSE(parsed.error().message.empty());
  } else {
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(actions.actions[parsed->action].name, GetParam().answer);
  }
}

std::string name_of_shape(const testing::TestParamInfo<Shape>& shape) {
  return shape.param.name;
}

const char* const kSkip = "skip";
const char* const kReplace = "replace";
const char* const kRefused = nullptr;

INSTANTIATE_TEST_SUITE_P(
    Form, ReplyShapes,
    testing::Values(
        Shape{
            "exact",
            R"({"decision": "replace", "reason": "hits low", "expected": {"hits": "increase", "traffic": "decrease"}})",
            kReplace},
        Shape{"compact",
              R"({"decision":"skip","reason":"ok","expected":{"hits":"stagnant","traffic":"stagnant"}})",
              kSkip},
        Shape{"pretty", "{\n  \"decision\": \"skip\",\n  \"reason\": \"fine\"\n}\n", kSkip},
        Shape{"decision_alone", R"({"decision": "replace"})", kReplace},
        Shape{"decision_last", R"({"reason": "hits low", "decision": "replace"})", kReplace},
        Shape{"in_an_array", R"([{"decision": "skip"}])", kSkip},
        Shape{"byte_order_mark", "\xEF\xBB\xBF{\"decision\": \"skip\"}", kSkip},
        Shape{"further_members",
              R"({"decision": "skip", "confidence": 0.9, "list": [1, {"a": []}], "none": null})", kSkip},
        Shape{"blank_reply", " \n\t ", kRefused}, Shape{"empty_reply", "", kRefused},
        Shape{"empty_object", "{}", kRefused}, Shape{"no_decision", R"({"reason": "replace"})", kRefused},
        Shape{"null_decision", R"({"decision": null, "reason": "replace"})", kRefused},
        Shape{"empty_decision", R"({"decision": "", "reason": "replace"})", kRefused}),
    name_of_shape);

INSTANTIATE_TEST_SUITE_P(
    WordsThatDecideNothing, ReplyShapes,
    testing::Values(
        Shape{"no_whose_explanation_says_yes",
              R"({"decision": "no", "explanation": "yes, one could replace, yes"})", kSkip},
        Shape{"yes_whose_explanation_says_no",
              R"({"decision": "yes", "explanation": "no, skip would be worse; no"})", kReplace},
        Shape{"node", "The node has low hits.", kRefused}, Shape{"cannot", "I cannot say.", kRefused},
        Shape{"unknown", "unknown", kRefused}, Shape{"not", R"({"decision": "not"})", kRefused},
        Shape{"node_as_decision", R"({"decision": "node"})", kRefused}, Shape{"invalid", "invalid", kRefused},
        Shape{"yes_in_prose", "Yes, I would replace the stale rows now.", kRefused},
        Shape{"sentence_as_decision", R"({"decision": "replace because the hits are low"})", kRefused},
        Shape{"none_needed", "Decision: no replacement needed", kRefused},
        Shape{"decision_inside_of_explanation",
              R"({"reason": "{\"decision\": \"replace\"}", "decision": "skip"})", kSkip},
        Shape{"decision_under_explanation", R"({"reason": {"decision": "replace"}, "decision": "skip"})",
              kSkip},
        Shape{"decision_under_explanation_only", R"({"explanation": {"decision": "replace"}})", kRefused},
        Shape{"decision_under_expectation", R"({"expected": {"decision": "replace", "hits": "up"}})",
              kRefused},
        Shape{"decision_in_history",
              R"({"history": [{"decision": "replace"}, {"decision": "replace"}], "decision": "skip"})",
              kSkip},
        Shape{"decision_in_history_only", R"({"history": [{"decision": "replace"}]})", kRefused},
        Shape{"line_inside_of_explanation",
              "{\"reason\": \"one\ndecision: replace\ntwo\", \"decision\": \"skip\"}", kSkip},
        Shape{"end_of_thought_inside_of_explanation",
              R"({"decision": "skip", "reason": "</think> {'decision': 'replace'}"})", kSkip},
        Shape{"number_alone", "1", kRefused}),
    name_of_shape);

INSTANTIATE_TEST_SUITE_P(
    Spelling, ReplyShapes,
    testing::Values(
        Shape{"yes", R"({"decision": "yes"})", kReplace}, Shape{"no", R"({"decision": "No."})", kSkip},
        Shape{"bool_true", R"({"decision": true})", kReplace},
        Shape{"bool_false", R"({"decision": false, "reason": "true"})", kSkip},
        Shape{"python_true", R"({'decision': True})", kReplace},
        Shape{"capitals_and_stop", R"({"Decision": "Replace."})", kReplace},
        Shape{"shouted", R"({"DECISION": "SKIP!"})", kSkip},
        Shape{"number_zero", R"({"decision": 0})", kSkip},
        Shape{"number_one", R"({"decision": 1})", kReplace},
        Shape{"number_with_point", R"({"decision": 1.0})", kReplace},
        Shape{"number_in_quotes", R"({"decision": "1"})", kReplace},
        Shape{"number_beyond", R"({"decision": 2})", kRefused},
        Shape{"number_below", R"({"decision": -2})", kRefused},
        Shape{"fraction", R"({"decision": 0.7})", kRefused},
        Shape{"emphasis", R"({"decision": "**replace**"})", kReplace},
        Shape{"key_action", R"({"action": "replace"})", kReplace},
        Shape{"key_final_decision", R"({"final_decision": "skip"})", kSkip},
        Shape{"key_decision_before_action", R"({"action": "replace", "decision": "skip"})", kSkip},
        Shape{"chinese_keys", R"({"决定": "replace", "理由": "命中低"})", kReplace},
        Shape{"chinese_values", R"({"决定": "否", "理由": "是"})", kSkip},
        Shape{"chinese_punctuation", "｛\"decision\"：\"replace\"｝ {\"决定\"：“替换”，\"理由\"：“命中低”}",
              kReplace},
        Shape{"chinese_escaped", R"({"\u51b3\u5b9a": "\u662f"})", kReplace},
        Shape{"unknown_action", R"({"decision": "prefetch"})", kRefused},
        Shape{"template_said_again", R"({"decision": "<action>", "reason": "<few words>"})", kRefused},
        Shape{"template_then_answer", "{\"decision\": \"<action>\"}\n{\"decision\": \"skip\"}", kSkip},
        Shape{"both_by_a_bar", R"({"decision": "skip|replace"})", kRefused},
        Shape{"one_word", "Replace.", kReplace}, Shape{"one_word_in_a_fence", "```\nskip\n```", kSkip},
        Shape{"one_word_no", " no\n", kSkip}, Shape{"two_words", "yes yes", kRefused},
        Shape{"line", "decision: replace\nreason: hits are low", kReplace},
        Shape{"line_in_bold", "Let me see.\n**Decision:** Skip.\n", kSkip},
        Shape{"line_in_chinese", "决定：替换\n理由：命中低", kReplace}),
    name_of_shape);

INSTANTIATE_TEST_SUITE_P(
    Around, ReplyShapes,
    testing::Values(
        Shape{"fence", "```json\n{\"decision\": \"replace\"}\n```", kReplace},
        Shape{"prose_before", "Sure! Hits fell, so yes:\n{\"decision\": \"skip\"}", kSkip},
        Shape{"prose_behind", "{\"decision\": \"skip\"}\nYes, replace would be possible, too.", kSkip},
        Shape{"braces_in_prose", "Levels {hits low, stall high} say: {\"decision\": \"replace\"} {ok}",
              kReplace},
        Shape{"quotes_in_prose", "The \"best is {\"decision\": \"replace\"}", kReplace},
        Shape{"thought", "<think>yes {\"decision\": \"replace\"} no</think>\n{\"decision\": \"skip\"}",
              kSkip},
        Shape{"thought_with_open_string",
              "<think>maybe {\"decision\": \"repl</think>{\"decision\": \"skip\"}", kSkip},
        Shape{"thought_without_beginning",
              "I could {\"decision\": \"replace\"}.\n</think>\n\n{\"decision\": \"skip\"}", kSkip},
        Shape{"thought_twice",
              "<think>a</think> hm <think>b {\"decision\": \"replace\"}</think>{\"decision\": \"skip\"}",
              kSkip},
        Shape{"thought_then_word", "<think>It is stale.</think>\nreplace", kReplace},
        Shape{"thought_without_end", "<think>yes, {\"decision\": \"replace\"}", kRefused},
        Shape{"thought_in_brackets", "[THINK]replace?[/THINK]{\"decision\": \"skip\"}", kSkip},
        Shape{"two_that_agree", "{\"decision\": \"skip\"} {\"decision\": \"no\"}", kSkip},
        Shape{"two_that_contradict", "{\"decision\": \"skip\"} {\"decision\": \"replace\"}", kRefused},
        Shape{"key_twice_contradicting", R"({"decision": "skip", "decision": "replace"})", kRefused},
        Shape{"key_twice_agreeing", R"({"decision": "skip", "decision": "skip"})", kSkip},
        Shape{"line_against_object", "Decision: replace\n{\"decision\": \"skip\"}", kRefused},
        Shape{"known_and_unknown", "{\"decision\": \"skip\"} {\"decision\": \"wait\"}", kRefused},
        Shape{"object_without_decision_first", "{\"hits\": \"low\"}\n{\"decision\": \"replace\"}", kReplace}),
    name_of_shape);

INSTANTIATE_TEST_SUITE_P(
    NotQuiteJson, ReplyShapes,
    testing::Values(
        Shape{"single_quotes", R"({'decision': 'skip', 'reason': 'yes'})", kSkip},
        Shape{"apostrophe", R"({'decision': 'skip', 'reason': 'it's fine, isn't it'})", kSkip},
        Shape{"smart_quotes", "{“decision”: “replace”, “reason”: “he said no”}", kReplace},
        Shape{"back_quotes", "{`decision`: `replace`}", kReplace},
        Shape{"corner_brackets", "{「decision」:「skip」}", kSkip},
        Shape{"no_quotes", "{decision: replace, reason: hits low}", kReplace},
        Shape{"no_quotes_a_line_each", "{\n  decision: skip\n  reason: no, replace nothing\n}", kSkip},
        Shape{"equals_sign", "{decision = skip}", kSkip},
        Shape{"trailing_comma", R"({"decision": "replace",})", kReplace},
        Shape{"trailing_comma_inside", R"({"expected": {"hits": "up",}, "decision": "replace",})", kReplace},
        Shape{"missing_comma", "{\"decision\": \"replace\"\n \"reason\": \"no\"}", kReplace},
        Shape{"missing_comma_before_decision", R"({"reason": "no" "decision": "replace"})", kReplace},
        Shape{"comments", "{// skip\n\"decision\": /* no */ \"replace\" // {\"decision\": \"skip\"}\n}",
              kReplace},
        Shape{"quote_not_escaped", R"({"reason": "they said "yes" twice", "decision": "skip"})", kSkip},
        Shape{"member_inside_of_quotes_not_escaped",
              R"({"reason": "say "decision": "replace" loudly", "decision": "skip"})", kSkip},
        Shape{"raw_line_break", "{\"reason\": \"one\ntwo\", \"decision\": \"skip\"}", kSkip},
        Shape{"invalid_utf8", "{\"decision\": \"skip\", \"reason\": \"\xFF\xC0\x80\"}", kSkip},
        Shape{"zero_bytes", std::string("{\"decision\": \"skip\", \"reason\": \"\0\"}", 35), kSkip},
        Shape{"wrapped", R"({"response": {"decision": "replace"}})", kReplace},
        Shape{"wrapped_twice", R"({"output": {"result": {"decision": "skip"}}})", kSkip},
        Shape{"wrapped_under_decision", R"({"decision": {"action": "skip", "confidence": 0.9}})", kSkip},
        Shape{"wrapped_contradicts_outer", R"({"decision": "skip", "response": {"decision": "replace"}})",
              kSkip},
        Shape{"decision_as_array_of_one", R"({"decision": ["replace"]})", kReplace},
        Shape{"decision_as_array_of_both", R"({"decision": ["replace", "skip"]})", kRefused},
        Shape{"brackets_that_do_not_match", R"({"list": [1, 2}, "decision": "replace"})", kRefused},
        Shape{"broken_behind_its_decision", R"({"decision": "replace", ???})", kReplace},
        Shape{
            "nested_beyond_bounds",
            R"({"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"decision":"skip"}}}}}}}}}}}}}}}}}})",
            kRefused}),
    name_of_shape);

INSTANTIATE_TEST_SUITE_P(
    CutOff, ReplyShapes,
    testing::Values(
        Shape{"behind_its_decision", R"({"decision": "replace", "reason": "the hit ra)", kReplace},
        Shape{"behind_its_decision_in_expectation",
              R"({"decision": "skip", "reason": "ok", "expected": {"hits": "incr)", kSkip},
        Shape{"right_behind_its_decision", R"({"decision": "replace")", kReplace},
        Shape{"behind_the_comma", R"({"decision": "replace",)", kReplace},
        Shape{"inside_of_its_decision", R"({"decision": "repl)", kRefused},
        Shape{"before_the_closing_quote", R"({"decision": "replace)", kRefused},
        Shape{"inside_of_a_bare_decision", R"({"decision": 1)", kRefused},
        Shape{"before_its_decision", R"({"reason": "replace, yes", "decis)", kRefused},
        Shape{"behind_the_colon", R"({"decision":)", kRefused},
        Shape{"inside_of_a_decision_behind_another", R"({"action": 1, "decision": "no way)", kRefused},
        Shape{"inside_of_a_choice_behind_its_decision", R"({"decision": "skip", "action": "rep)", kSkip},
        Shape{"inside_of_a_second_answer", R"({"decision": "skip"} {"decision": "rep)", kSkip},
        Shape{"inside_of_its_explanation", "{\"reason\": \"yes\ndecision: replace\n", kRefused},
        Shape{"brace_alone", "{", kRefused}, Shape{"quote_alone", "{\"", kRefused},
        Shape{"backslash_last", "{\"decision\": \"skip\", \"reason\": \"\\", kSkip}),
    name_of_shape);

TEST(Reply, KeepsReasonAndExpectation) {
  const ActionSet actions = replace_actions();
  const auto parsed = parse_reply(
      R"({"decision": "replace", "reason": "hits \"low\",\n so \u2192 swap \ud83d\udea2", "expected": {"hits": "increase", "traffic": "decrease"}})",
      actions);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->reason, "hits \"low\",  so → swap 🚢");
  EXPECT_EQ(parsed->expected, (Expected{Direction::kIncrease, Direction::kDecrease}));
  EXPECT_TRUE(parsed->strict);
}

TEST(Reply, ReadsOtherSpellingsOfTheExpectation) {
  const ActionSet actions = replace_actions();
  const auto expected = [&](const std::string& text) {
    const auto parsed = parse_reply(R"({"decision": "skip", )" + text + "}", actions);
    return parsed.ok() ? parsed->expected : std::nullopt;
  };
  const Expected up_down = {Direction::kIncrease, Direction::kDecrease};
  EXPECT_EQ(expected(R"("expected_impact": {"hit_rate": "Increase.", "communication volume": "decrease"})"),
            up_down);
  EXPECT_EQ(expected(R"("预期": {"命中率": "上升", "流量": "减少"})"), up_down);
  EXPECT_EQ(expected(R"("expected": {"hits": "up", "traffic": "↓"})"), up_down);
  EXPECT_EQ(expected(R"("expected": {"hits": "up"})"), std::nullopt) << "half an expectation is none";
  EXPECT_EQ(expected(R"("expected": {"hits": "up", "traffic": "perhaps"})"), std::nullopt);
  EXPECT_EQ(expected(R"("expected": "hits increase")"), std::nullopt);
  EXPECT_EQ(expected(R"("hits": "up", "traffic": "down")"), std::nullopt);
}

TEST(Reply, ReasonIsOneBoundedLineOfUtf8) {
  const ActionSet actions = replace_actions();
  const auto reason = [&](const std::string& raw) {
    const auto parsed = parse_reply("{\"decision\": \"skip\", \"reason\": \"" + raw + "\"}", actions);
    return parsed.ok() ? parsed->reason : "refused: " + parsed.error().message;
  };
  EXPECT_EQ(reason("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(reason("\\ud800 alone, \\udc00, \\u12 short, \\q odd"),
            "\xEF\xBF\xBD alone, \xEF\xBF\xBD, u12 short, q odd");
  EXPECT_EQ(reason("\\u001b[31mred\\n"), "[31mred") << "no escape reaches a terminal";
  const std::string cut = reason(std::string(399, 'a') + "äöü");
  EXPECT_EQ(cut, std::string(399, 'a')) << "cut between characters";
  std::string escaped;
  for (int i = 0; i < 1000; ++i) {
    escaped += "\\u00e4";
  }
  EXPECT_EQ(reason(escaped).size(), 400U);
}

TEST(Reply, StrictMeansTheFormAskedForAndNothingElse) {
  const ActionSet actions = replace_actions();
  const std::string form =
      R"({"decision": "skip", "reason": "", "expected": {"hits": "stagnant", "traffic": "stagnant"}})";
  const auto is_strict = [&](const std::string& reply) {
    const auto parsed = parse_reply(reply, actions);
    return parsed.ok() && parsed->strict;
  };
  EXPECT_TRUE(is_strict(form));
  EXPECT_TRUE(is_strict("<think>hm</think>\n" + form + "\n"));
  EXPECT_FALSE(is_strict("Sure: " + form));
  EXPECT_FALSE(is_strict("```json\n" + form + "\n```"));
  EXPECT_FALSE(is_strict(form + form));
  EXPECT_FALSE(is_strict(R"({"decision": "skip"})"));
  EXPECT_FALSE(is_strict(
      R"({"reason": "", "decision": "skip", "expected": {"hits": "stagnant", "traffic": "stagnant"}})"));
  EXPECT_FALSE(is_strict(
      R"({"decision": "no", "reason": "", "expected": {"hits": "stagnant", "traffic": "stagnant"}})"));
  EXPECT_FALSE(
      is_strict(R"({"decision": "skip", "reason": "", "expected": {"hits": "up", "traffic": "stagnant"}})"));
}

TEST(Reply, KnobsAreAnsweredByNameOrNumberNotByYes) {
  const ActionSet actions = testing_support::knobs();
  const auto answer = [&](const std::string& reply) {
    const auto parsed = parse_reply(reply, actions);
    return parsed.ok() ? actions.actions[parsed->action].name : "refused";
  };
  EXPECT_EQ(answer(R"({"decision": "depth16-fullrate"})"), "depth16-fullrate");
  EXPECT_EQ(answer(R"({"decision": "Depth16 Fullrate"})"), "depth16-fullrate");
  EXPECT_EQ(answer(R"({"decision": 3})"), actions.actions[3].name);
  EXPECT_EQ(answer(R"({"decision": "depth16"})"), "refused") << "half a name";
  EXPECT_EQ(answer(R"({"decision": "depth16-fullrate-now"})"), "refused");
  EXPECT_EQ(answer(R"({"decision": "yes"})"), "refused");
  EXPECT_EQ(answer("no"), "refused");
  EXPECT_EQ(answer(R"({"decision": true})"), "refused");
}

TEST(Reply, RefusalsSayWhatWasRead) {
  const ActionSet actions = replace_actions();
  EXPECT_THAT(parse_reply(R"({"decision": "pre\u0066etch"})", actions).error().message,
              HasSubstr("which is none of skip, replace"));
  EXPECT_THAT(parse_reply("{\"decision\": \"a\"} \x1b[31m", actions).error().message,
              HasSubstr("decides 'a'"));
  EXPECT_THAT(parse_reply("I \x1b[31mcannot say", actions).error().message, HasSubstr("'I  [31mcannot say'"));
  EXPECT_THAT(parse_reply("{'decision': yes} {'decision': no}", actions).error().message,
              HasSubstr("skip, replace, which contradict"));
  EXPECT_THAT(parse_reply("<think>", actions).error().message, HasSubstr("reasoning"));
}

}  // namespace
}  // namespace rudder::steer

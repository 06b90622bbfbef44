// SPDX-License-Identifier: Apache-2.0
// What holds for replies of any content and any size.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/core/rng.h"
#include "rudder/steer/prompt.h"

#include "steer/action_sets.h"

namespace rudder::steer {
namespace {

constexpr std::string_view kDirections[] = {"decrease", "stagnant", "increase"};

/// Pieces that have misled a parser, or might.
const std::vector<std::string>& hostile_pieces() {
  static const std::vector<std::string> kPieces = {"yes",
                                                   "no",
                                                   "replace",
                                                   "skip",
                                                   "not",
                                                   "node",
                                                   "cannot",
                                                   "unknown",
                                                   "true",
                                                   "false",
                                                   "null",
                                                   "1",
                                                   "0",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "\"",
                                                   "'",
                                                   "“",
                                                   "”",
                                                   "`",
                                                   ":",
                                                   "：",
                                                   ",",
                                                   "，",
                                                   "\\",
                                                   "\\\"",
                                                   "\n",
                                                   "\ndecision: replace\n",
                                                   "\nDecision: skip\n",
                                                   "{\"decision\": \"replace\"}",
                                                   "{\"decision\": \"skip\"}",
                                                   "{'decision': 'replace'}",
                                                   "\"decision\"",
                                                   "decision",
                                                   "\"}",
                                                   "\"}{\"decision\":\"yes\"}",
                                                   "</think>",
                                                   "<think>",
                                                   "[/THINK]",
                                                   "```",
                                                   "//",
                                                   "/*",
                                                   "*/",
                                                   "决定",
                                                   "是",
                                                   "否",
                                                   " ",
                                                   "the hits are low",
                                                   "\t",
                                                   "\r",
                                                   "\x1b",
                                                   "🚢",
                                                   "\u2028",
                                                   "<",
                                                   ">"};
  return kPieces;
}

std::string hostile_text(CounterRng& rng, std::size_t pieces) {
  std::string text;
  for (std::size_t i = 0; i < pieces; ++i) {
    text += hostile_pieces()[rng.below(hostile_pieces().size())];
  }
  return text;
}

TEST(ReplyProperty, WellFormedRepliesParseToTheirDecisionWhateverTheyExplain) {
  for (const ActionSet& actions : {replace_actions(), testing_support::knobs()}) {
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
      CounterRng rng({seed, 1});
      const std::size_t action = rng.below(actions.actions.size());
      nlohmann::ordered_json reply;
      reply["decision"] = actions.actions[action].name;
      reply["reason"] = hostile_text(rng, rng.below(12));
      reply["expected"] = {{"hits", kDirections[rng.below(3)]}, {"traffic", kDirections[rng.below(3)]}};
      std::string text = reply.dump(rng.below(2) == 0 ? -1 : 2, ' ', rng.below(2) == 0);
      const auto parsed = parse_reply(text, actions);
      ASSERT_TRUE(parsed.ok()) << text << "\n" << parsed.error().message;
      EXPECT_EQ(parsed->action, action) << text;
      EXPECT_TRUE(parsed->strict) << text;
      ASSERT_TRUE(parsed->expected.has_value()) << text;
      EXPECT_EQ(kDirections[static_cast<std::size_t>(parsed->expected->hits)], reply["expected"]["hits"]);
      EXPECT_EQ(kDirections[static_cast<std::size_t>(parsed->expected->traffic)],
                reply["expected"]["traffic"]);
    }
  }
}

/// Several fields that decide, in whatever shape, cut off anywhere: words behind them may take the decision
/// away.
TEST(ReplyProperty, ProseBehindAReplyNeverTurnsItsDecision) {
  constexpr std::string_view kMembers[] = {R"("action": 1)",
                                           R"("decision" = "no")",
                                           R"('decision': 'yes')",
                                           R"("answer": "replace")",
                                           R"(decision: skip)",
                                           R"("reason": "no")",
                                           R"("result": {"decision": "yes"})",
                                           R"("decision": "no"" now")"};
  constexpr std::string_view kBetween[] = {", ", "; ", " ", ", /* no */ ", "\n", "} {"};
  const ActionSet actions = replace_actions();
  int decided = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    CounterRng rng({seed, 3});
    std::string text = "{";
    for (std::uint64_t members = 1 + rng.below(4); members > 0; --members) {
      text += kMembers[rng.below(std::size(kMembers))];
      text += kBetween[rng.below(std::size(kBetween))];
    }
    text.resize(text.size() - rng.below(text.size()));
    const auto parsed = parse_reply(text, actions);
    const auto longer = parse_reply(text + "\n\nYes, no: skip, replace.", actions);
    decided += parsed.ok() ? 1 : 0;
    ASSERT_TRUE(!parsed.ok() || !longer.ok() || parsed->action == longer->action) << text;
  }
  EXPECT_GT(decided, 5'000);
}

/// Cut off anywhere, a reply of the form either still has its decision or is refused; it never has another.
TEST(ReplyProperty, CutRepliesNeverChangeTheirDecision) {
  const ActionSet actions = replace_actions();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CounterRng rng({seed, 2});
    const std::size_t action = rng.below(2);
    nlohmann::ordered_json reply;
    const bool first = rng.below(2) == 0;
    if (first) {
      reply["decision"] = actions.actions[action].name;
    }
    reply["reason"] = hostile_text(rng, rng.below(8));
    if (!first) {
      reply["decision"] = actions.actions[action].name;
    }
    const std::string text = reply.dump();
    for (std::size_t size = 0; size <= text.size(); ++size) {
      const auto parsed = parse_reply(text.substr(0, size), actions);
      if (parsed.ok()) {
        EXPECT_EQ(parsed->action, action) << text.substr(0, size);
      }
    }
    EXPECT_TRUE(parse_reply(text, actions).ok()) << text;
  }
}

/// A literal check that an accepted reply names its action at all.
bool names(std::string_view reply, std::string_view action) {
  const std::vector<std::string_view> words =
      action == "replace"
          ? std::vector<std::string_view>{"replace", "yes", "y", "true", "1", "是", "替换"}
          : std::vector<std::string_view>{"skip", "no", "n", "false", "0", "否", "不", "跳过"};
  std::string small(reply);
  for (char& c : small) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

TEST(ReplyProperty, RandomBytesAreRefusedUnlessTheyHoldADecision) {
  const ActionSet actions = replace_actions();
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    CounterRng rng({seed, 3});
    std::string reply(rng.below(200), '\0');
    for (char& c : reply) {
      c = static_cast<char>(static_cast<unsigned char>(rng.below(256)));
    }
    const auto parsed = parse_reply(reply, actions);
    if (parsed.ok()) {
      ++accepted;
      EXPECT_TRUE(names(reply, actions.actions[parsed->action].name)) << testing::PrintToString(reply);
    }
  }
  EXPECT_LT(accepted, 20) << "single letters only";
}

TEST(ReplyProperty, RandomPiecesNeverDecideWithoutAFieldOrAWholeWord) {
  const ActionSet actions = replace_actions();
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    CounterRng rng({seed, 4});
    const std::string reply = hostile_text(rng, rng.below(20));
    const auto parsed = parse_reply(reply, actions);
    if (parsed.ok()) {
      EXPECT_TRUE(names(reply, actions.actions[parsed->action].name)) << reply;
      EXPECT_LE(parsed->reason.size(), 400U);
      EXPECT_EQ(parsed->reason.find('\n'), std::string::npos);
    }
  }
}

/// Quadratic time would take hours, recursion without bound the stack.
TEST(ReplyProperty, HugeRepliesTakeLinearTimeAndBoundedStack) {
  const ActionSet actions = replace_actions();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kBrackets = 1'000'000, kOthers = 100'000;
#else
  constexpr std::size_t kBrackets = 10'000'000, kOthers = 1'000'000;
#endif
  for (const std::string piece : {"[",
                                  "{",
                                  "{\"a\":",
                                  "{\"a\":[",
                                  "{\"decision\":",
                                  "{\"",
                                  "{'",
                                  "{“",
                                  "{`",
                                  "{/*",
                                  "{//",
                                  "{a",
                                  "{a:",
                                  "</think>",
                                  "<think",
                                  "\n",
                                  "decision:\n",
                                  "\"",
                                  "\\",
                                  " ",
                                  "{ ",
                                  "{,",
                                  "{\"a\"",
                                  "{\"a\" ",
                                  "{\"a\":\"\" ",
                                  "\" \"",
                                  "{'\"“",
                                  "{\"decision\":\"yes\",",
                                  "\xFF",
                                  "：",
                                  "{「"}) {
    std::string reply;
    const std::size_t bytes = piece == "[" || piece == "{" ? kBrackets : kOthers;
    reply.reserve(bytes + piece.size());
    while (reply.size() < bytes) {
      reply += piece;
    }
    static_cast<void>(parse_reply(reply, actions));
    const auto parsed = parse_reply("{\"decision\": \"skip\"}\n" + reply, actions);
    if (parsed.ok()) {
      EXPECT_EQ(parsed->action, actions.find("skip")) << piece;
    }
  }
}

}  // namespace
}  // namespace rudder::steer

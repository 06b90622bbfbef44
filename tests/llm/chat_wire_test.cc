// SPDX-License-Identifier: Apache-2.0
#include "llm/chat_wire.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/bounded_json.h"

namespace rudder::llm {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

ChatReply reply_with(std::string text) {
  ChatReply reply;
  reply.text = std::move(text);
  reply.tokens = {{.text = "a", .choices = {{"a", 0.5}, {"b", 0.25}, {"c", 0.125}}, .allowed = 0.25},
                  {.text = "b", .choices = {{"x", 1.0}, {"b", 0.0}}, .allowed = 1}};
  reply.prompt_tokens = 100;
  reply.cached_tokens = 64;
  reply.reply_tokens = 2;
  return reply;
}

TEST(ChatReplyWire, ComesBackAsItWent) {
  ReceivedChat chat;
  chat.probabilities = true;
  for (const char* const text :
       {"", "plain", "quotes \" \\ \n\t", "\xe4\xbd\xa0\xe5\xa5\xbd", "{\"decision\":\"yes\"}"}) {
    const ChatReply before = reply_with(text);
    const auto after = read_chat_reply(write_chat_reply(before, chat, "model", 3));
    ASSERT_TRUE(after.ok()) << after.error().message;
    EXPECT_EQ(after->text, before.text);
    EXPECT_EQ(after->prompt_tokens, before.prompt_tokens);
    EXPECT_EQ(after->cached_tokens, before.cached_tokens);
    EXPECT_EQ(after->reply_tokens, before.reply_tokens);
    ASSERT_EQ(after->tokens.size(), before.tokens.size());
    for (std::size_t i = 0; i < before.tokens.size(); ++i) {
      EXPECT_EQ(after->tokens[i].text, before.tokens[i].text);
      EXPECT_EQ(after->tokens[i].allowed, before.tokens[i].allowed);
      ASSERT_EQ(after->tokens[i].choices.size(), before.tokens[i].choices.size());
      for (std::size_t k = 0; k < before.tokens[i].choices.size(); ++k) {
        EXPECT_EQ(after->tokens[i].choices[k].text, before.tokens[i].choices[k].text);
        EXPECT_NEAR(after->tokens[i].choices[k].probability, before.tokens[i].choices[k].probability, 1e-12);
      }
    }
  }
}

TEST(ChatReplyWire, BytesThatAreNoTextBecomeReplacementCharacters) {
  const auto reply = read_chat_reply(write_chat_reply(reply_with("half \xe4\xbd"), {}, "m", 1));
  ASSERT_TRUE(reply.ok());
  EXPECT_THAT(reply->text, HasSubstr("half \xef\xbf\xbd"));
  EXPECT_TRUE(reply->tokens.empty()) << "nobody asked for probabilities";
}

/// A reply of one token with these probabilities.
Result<ChatReply> with_logprobs(const std::string& entry) {
  return read_chat_reply(R"({"choices":[{"message":{"content":"x"},"logprobs":{"content":[)" + entry +
                         "]}}]}");
}

TEST(ChatReplyWire, ProbabilitiesAreSortedAndHoldTheChosenToken) {
  std::string others;
  for (int i = 0; i < 20; ++i) {
    others += (i > 0 ? "," : "") + std::string(R"({"token":"t)") + std::to_string(i) + R"(","logprob":)" +
              std::to_string(-20 + i) + "}";
  }
  const auto reply = with_logprobs(R"({"token":"rare","logprob":-30,"top_logprobs":[)" + others + "]}");
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->tokens.size(), 1U);
  const auto& choices = reply->tokens[0].choices;
  ASSERT_EQ(choices.size(), kMaxChoices);
  EXPECT_EQ(choices.front().text, "t19");
  EXPECT_EQ(choices.back().text, "rare");
  EXPECT_TRUE(std::ranges::is_sorted(choices, std::ranges::greater(), &Token::Choice::probability));
}

TEST(ChatReplyWire, ProbabilitiesThatMakeNoSenseAreLeftOut) {
  for (const char* const entry :
       {"1", "{}", R"({"token":"x"})", R"({"token":"x","logprob":"-1"})", R"({"token":1,"logprob":-1})",
        R"({"token":"x","logprob":-1,"top_logprobs":[1]})"}) {
    const auto reply = with_logprobs(entry);
    ASSERT_TRUE(reply.ok()) << entry;
    EXPECT_EQ(reply->text, "x");
    EXPECT_TRUE(reply->tokens.empty()) << entry;
  }
  const auto certain = with_logprobs(R"({"token":"x","logprob":5,"allowed":7})");
  ASSERT_TRUE(certain.ok());
  EXPECT_EQ(certain->tokens[0].choices[0].probability, 1);
  EXPECT_EQ(certain->tokens[0].allowed, 1);
}

TEST(ChatReplyWire, CountsThatMakeNoSenseAreZero) {
  const auto reply = read_chat_reply(
      R"({"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":-5,"completion_tokens":"9",
      "prompt_tokens_details":{"cached_tokens":99}}})");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->prompt_tokens, 0U);
  EXPECT_EQ(reply->reply_tokens, 0U);
  EXPECT_EQ(reply->cached_tokens, 0U) << "no more than the prompt has";
}

TEST(ChatRequestWire, ComesBackAsItWent) {
  ChatRequest before;
  before.messages = {{"system", "rules"}, {"user", "q \"1\""}, {"assistant", "a"}, {"user", "q2"}};
  before.grammar = "root ::= \"x\"";
  before.json_schema = R"({"type":"object"})";
  before.max_tokens = 17;
  before.temperature = 0.25;
  before.seed = 99;
  before.job = "job";
  before.timeout = from_seconds(3);
  const auto body = write_chat_request(before, "model", {true, true, true});
  ASSERT_TRUE(body.ok());
  const auto after = read_chat_request(*body, {});
  ASSERT_TRUE(after.ok()) << after.error().message;
  ASSERT_EQ(after->request.messages.size(), before.messages.size());
  for (std::size_t i = 0; i < before.messages.size(); ++i) {
    EXPECT_EQ(after->request.messages[i].role, before.messages[i].role);
    EXPECT_EQ(after->request.messages[i].content, before.messages[i].content);
  }
  EXPECT_EQ(after->request.grammar, before.grammar);
  EXPECT_EQ(after->request.json_schema, before.json_schema);
  EXPECT_EQ(after->request.max_tokens, before.max_tokens);
  EXPECT_EQ(after->request.temperature, before.temperature);
  EXPECT_EQ(after->request.seed, before.seed);
  EXPECT_EQ(after->request.job, before.job);
  EXPECT_EQ(after->request.timeout, before.timeout);
  EXPECT_TRUE(after->probabilities);
}

TEST(ChatRequestWire, TakesWhatClientsOftenSend) {
  const auto chat = read_chat_request(
      R"({"model":"any","messages":[{"role":"developer","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],
      "max_completion_tokens":5,"top_p":1.0,"n":1,"stream":false,"stop":null,"presence_penalty":0,"user":null,
      "seed":-3,"response_format":{"type":"json_object"}})",
      {});
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  EXPECT_EQ(chat->request.messages[0].role, "system");
  EXPECT_EQ(chat->request.messages[0].content, "ab");
  EXPECT_EQ(chat->request.max_tokens, 5U);
  EXPECT_FALSE(chat->request.grammar.empty()) << "any object";
  EXPECT_FALSE(chat->probabilities);
}

TEST(ReadError, FindsTheReasonInEveryForm) {
  EXPECT_EQ(read_error(R"({"error":{"message":"a"}})"), "a");
  EXPECT_EQ(read_error(R"({"error":"b"})"), "b");
  EXPECT_EQ(read_error(R"({"message":"c"})"), "c");
  EXPECT_EQ(read_error("<html>\n\x1b[31mno"), "<html> \\x1b[31mno");
  EXPECT_EQ(read_error("\xff\xfe raw"), " raw");
  EXPECT_EQ(read_error(write_error("d", 500)), "d");
  EXPECT_LE(read_error(std::string(5000, 'x')).size(), 203U);
}

TEST(Excerpt, CutsBetweenCharacters) {
  EXPECT_EQ(excerpt("\xe4\xbd\xa0\xe5\xa5\xbd", 4), "\xe4\xbd\xa0...");
  EXPECT_EQ(excerpt("\xe4\xbd\xa0", 1), "...");
  EXPECT_EQ(excerpt("abc", 3), "abc");
}

TEST(BoundedJson, HasADepth) {
  EXPECT_TRUE(parse_bounded_json(std::string(32, '[') + std::string(32, ']')).ok());
  EXPECT_FALSE(parse_bounded_json(std::string(33, '[') + std::string(33, ']')).ok());
  EXPECT_FALSE(parse_bounded_json(std::string(1000000, '[')).ok());
  EXPECT_FALSE(parse_bounded_json("{} x").ok());
}

}  // namespace
}  // namespace rudder::llm

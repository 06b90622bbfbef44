// SPDX-License-Identifier: Apache-2.0
// What model servers answer and what clients ask of the agent; addresses of servers, grammars, heads of model
// files.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "rudder/llm/endpoint.h"

#include "fuzz_input.h"
#include "llm/bounded_json.h"
#include "llm/chat_wire.h"
#include "llm/gguf.h"
#include "llm/grammar_limits.h"

namespace rudder::llm {
namespace {

void check_tokens(const ChatReply& reply) {
  for (const Token& token : reply.tokens) {
    RUDDER_CHECK(token.allowed >= 0 && token.allowed <= 1, "a share");
    RUDDER_CHECK(!token.choices.empty() && token.choices.size() <= kMaxChoices, "a few choices");
    bool chosen = false;
    for (const Token::Choice& choice : token.choices) {
      RUDDER_CHECK(choice.probability >= 0 && choice.probability <= 1, "a probability");
      chosen = chosen || choice.text == token.text;
    }
    RUDDER_CHECK(chosen, "the chosen one is among them");
    RUDDER_CHECK(std::ranges::is_sorted(token.choices, std::ranges::greater(), &Token::Choice::probability),
                 "most probable first");
  }
}

void reply(std::string_view body) {
  const auto reply = read_chat_reply(body);
  if (!reply.ok()) {
    RUDDER_CHECK(reply.error().code == Errc::kPeer && !reply.error().message.empty(), "one clear error");
    return;
  }
  RUDDER_CHECK(reply->text.size() <= kMaxReplyBytes && reply->cached_tokens <= reply->prompt_tokens,
               "bounds");
  check_tokens(*reply);
  ReceivedChat chat;
  chat.probabilities = true;
  const auto again = read_chat_reply(write_chat_reply(*reply, chat, "m", 1));
  RUDDER_CHECK(again.ok() && again->text == reply->text && again->tokens.size() == reply->tokens.size(),
               "a reply comes back as it went");
  check_tokens(*again);
}

void request(std::string_view body) {
  const auto chat = read_chat_request(body, {});
  if (!chat.ok()) {
    RUDDER_CHECK(chat.error().code == Errc::kInvalidArgument && !chat.error().message.empty(), "one reason");
    RUDDER_CHECK(read_error(write_error(chat.error().message, 400)).size() <= 203, "which can be told");
    return;
  }
  const ChatRequest& before = chat->request;
  const auto written = write_chat_request(before, "m", kFieldLevels[0]);
  RUDDER_CHECK(written.ok(), "what was read can be written");
  const auto again = read_chat_request(*written, {});
  RUDDER_CHECK(again.ok() && again->request.messages.size() == before.messages.size() &&
                   again->request.grammar == before.grammar && again->request.job == before.job &&
                   again->request.max_tokens == before.max_tokens,
               "a request comes back as it went");
}

void server_address(std::string_view text) {
  const auto endpoint = parse_model_endpoint(text);
  RUDDER_CHECK(!endpoint.ok() || (!endpoint->host.empty() && endpoint->path.starts_with('/')), "complete");
}

void error_text(std::string_view body) {
  const std::string shown = read_error(body);
  RUDDER_CHECK(shown.find_first_of("\n\x1b") == shown.npos, "one line, and nothing for a terminal");
  RUDDER_CHECK(parse_bounded_json(to_text(shown)).ok(), "text");
}

}  // namespace
}  // namespace rudder::llm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(6)) {
    case 0:
      rudder::llm::reply(input.text());
      break;
    case 1:
      rudder::llm::request(input.text());
      break;
    case 2:
      rudder::llm::server_address(input.text());
      break;
    case 3:
      rudder::llm::error_text(input.text());
      break;
    case 4: {
      const rudder::fuzz::MemoryFile file(input.rest());
      static_cast<void>(rudder::llm::check_gguf(file.path()));
      break;
    }
    default:
      static_cast<void>(rudder::llm::check_grammar_limits(input.text()));
  }
  return 0;
}

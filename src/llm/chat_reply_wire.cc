// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "llm/bounded_json.h"
#include "llm/chat_wire.h"

namespace rudder::llm {
namespace {

using Json = nlohmann::json;

Error unusable(std::string_view why) {
  return {Errc::kPeer, fmt::format("the reply {}", why)};
}

std::optional<double> number_member(const Json& object, std::string_view key) {
  const Json* const found = find_member(object, key);
  if (found == nullptr || !found->is_number() || !std::isfinite(found->get<double>())) {
    return std::nullopt;
  }
  return found->get<double>();
}

std::uint64_t count_member(const Json* object, std::string_view key) {
  const Json* const found = object != nullptr ? find_member(*object, key) : nullptr;
  return found != nullptr && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

const Json* first_of(const Json* list) {
  return list != nullptr && list->is_array() && !list->empty() ? &list->front() : nullptr;
}

std::optional<Token::Choice> read_choice(const Json& from) {
  const Json* const text = find_member(from, "token");
  const auto log_probability = number_member(from, "logprob");
  if (text == nullptr || !text->is_string() || !log_probability) {
    return std::nullopt;
  }
  return Token::Choice{text->get<std::string>(), std::exp(std::min(0.0, *log_probability))};
}

std::optional<Token> read_token(const Json& from) {
  const auto chosen = read_choice(from);
  if (!chosen) {
    return std::nullopt;
  }
  Token token{.text = chosen->text, .choices = {}};
  const Json* const others = find_member(from, "top_logprobs");
  for (const Json& other : others != nullptr && others->is_array() ? *others : Json::array()) {
    auto choice = read_choice(other);
    if (!choice) {
      return std::nullopt;
    }
    token.choices.push_back(*std::move(choice));
  }
  std::ranges::stable_sort(token.choices, std::ranges::greater(), &Token::Choice::probability);
  token.choices.resize(std::min(token.choices.size(), kMaxChoices));
  if (std::ranges::find(token.choices, chosen->text, &Token::Choice::text) == token.choices.end()) {
    if (token.choices.size() == kMaxChoices) {
      token.choices.pop_back();
    }
    const auto place = std::ranges::upper_bound(token.choices, chosen->probability, std::ranges::greater(),
                                                &Token::Choice::probability);
    token.choices.insert(place, *chosen);
  }
  token.allowed = std::clamp(number_member(from, "allowed").value_or(1), 0.0, 1.0);
  return token;
}

/// Empty where the server tells none, or anything but probabilities.
std::vector<Token> read_tokens(const Json& choice) {
  const Json* list = find_member(choice, "logprobs");
  list = list != nullptr ? find_member(*list, "content") : nullptr;
  std::vector<Token> tokens;
  for (const Json& from : list != nullptr && list->is_array() ? *list : Json::array()) {
    auto token = read_token(from);
    if (!token) {
      return {};
    }
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

Json write_choice(const Token::Choice& choice) {
  // JSON has no infinity: what cannot be is as improbable as a double can say.
  return {{"token", choice.text}, {"logprob", std::log(std::max(choice.probability, 1e-300))}};
}

Json write_tokens(const std::vector<Token>& tokens) {
  Json content = Json::array();
  for (const Token& token : tokens) {
    const auto chosen = std::ranges::find(token.choices, token.text, &Token::Choice::text);
    Json entry = write_choice({token.text, chosen != token.choices.end() ? chosen->probability : 0});
    Json others = Json::array();
    for (const Token::Choice& choice : token.choices) {
      others.push_back(write_choice(choice));
    }
    entry["top_logprobs"] = std::move(others);
    entry["allowed"] = token.allowed;
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}};
}

}  // namespace

Result<ChatReply> read_chat_reply(std::string_view body) {
  auto parsed = parse_bounded_json(body);
  if (!parsed.ok()) {
    return unusable("is " + parsed.error().message);
  }
  const Json* const choice = first_of(find_member(*parsed, "choices"));
  const Json* const message = choice != nullptr ? find_member(*choice, "message") : nullptr;
  const Json* const content = message != nullptr ? find_member(*message, "content") : nullptr;
  if (content == nullptr || !content->is_string()) {
    return unusable("has no text in choices[0].message.content");
  }
  ChatReply reply;
  reply.text = content->get<std::string>();
  if (reply.text.size() > kMaxReplyBytes) {
    return unusable(
        fmt::format("has {} bytes of text; at most {} are taken", reply.text.size(), kMaxReplyBytes));
  }
  reply.tokens = read_tokens(*choice);
  const Json* const usage = find_member(*parsed, "usage");
  const Json* const details = usage != nullptr ? find_member(*usage, "prompt_tokens_details") : nullptr;
  reply.prompt_tokens = count_member(usage, "prompt_tokens");
  reply.cached_tokens = std::min(count_member(details, "cached_tokens"), reply.prompt_tokens);
  reply.reply_tokens = count_member(usage, "completion_tokens");
  return reply;
}

std::string read_error(std::string_view body) {
  constexpr std::size_t kShown = 200;
  const auto parsed = parse_bounded_json(body);
  if (!parsed.ok()) {
    return excerpt(body, kShown);
  }
  const Json* error = find_member(*parsed, "error");
  error = error != nullptr ? error : &*parsed;
  const Json* const message = find_member(*error, "message");
  for (const Json* const text : {message, error}) {
    if (text != nullptr && text->is_string()) {
      return excerpt(text->get<std::string>(), kShown);
    }
  }
  return excerpt(body, kShown);
}

std::string write_chat_reply(const ChatReply& reply, const ReceivedChat& chat, std::string_view model,
                             std::uint64_t number) {
  const bool cut = reply.reply_tokens >= chat.request.max_tokens;
  Json choice = {{"index", 0},
                 {"message", {{"role", "assistant"}, {"content", reply.text}}},
                 {"finish_reason", cut ? "length" : "stop"}};
  if (chat.probabilities) {
    choice["logprobs"] = write_tokens(reply.tokens);
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return to_text({{"id", fmt::format("chatcmpl-{}", number)},
                  {"object", "chat.completion"},
                  {"created", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
                  {"model", model},
                  {"choices", Json::array({std::move(choice)})},
                  {"usage",
                   {{"prompt_tokens", reply.prompt_tokens},
                    {"completion_tokens", reply.reply_tokens},
                    {"total_tokens", reply.prompt_tokens + reply.reply_tokens},
                    {"prompt_tokens_details", {{"cached_tokens", reply.cached_tokens}}}}}});
}

std::string write_error(std::string_view message, int status) {
  const char* const type = status < 500 ? "invalid_request_error" : "server_error";
  return to_text({{"error", {{"message", message}, {"type", type}, {"code", status}}}});
}

}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/text.h"

#include "llm/bounded_json.h"
#include "llm/chat_wire.h"

namespace rudder::llm {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kMostReplyTokens = 8192;
constexpr std::size_t kMaxMessages = 256;
constexpr std::size_t kMaxJobName = 128;

/// Any object of JSON, for requests of the form json_object.
constexpr const char* kJsonGrammar = R"gbnf(root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member (ws "," ws member)*)? ws "}"
member ::= string ws ":" ws value
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" ["\\/bfnrt])* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= [ \n]?
)gbnf";

Error refused(std::string_view why) {
  return {Errc::kInvalidArgument, std::string(why)};
}

Status read_role(const Json& from, Message& message) {
  const Json* const role = find_member(from, "role");
  if (role == nullptr || !role->is_string()) {
    return refused("a message without a role");
  }
  message.role = role->get<std::string>();
  if (message.role == "developer") {  // what newer clients call it
    message.role = "system";
  }
  if (message.role != "system" && message.role != "user" && message.role != "assistant") {
    return refused(fmt::format("a message of role '{}'; system, user and assistant are known",
                               excerpt(message.role, 32)));
  }
  return {};
}

/// Text, or a list of parts that are text.
Status read_content(const Json& from, Message& message) {
  const Json* const content = find_member(from, "content");
  if (content != nullptr && content->is_string()) {
    message.content = content->get<std::string>();
    return {};
  }
  if (content == nullptr || !content->is_array()) {
    return refused("a message without a text in content");
  }
  for (const Json& part : *content) {
    const Json* const text = find_member(part, "text");
    if (text == nullptr || !text->is_string()) {
      return refused("a message with a part that is no text");
    }
    message.content += text->get<std::string>();
  }
  return {};
}

Status read_messages(const Json& from, ReceivedChat& chat) {
  if (!from.is_array() || from.empty() || from.size() > kMaxMessages) {
    return refused(fmt::format("messages must be a list of 1 to {}", kMaxMessages));
  }
  for (const Json& entry : from) {
    Message message;
    RUDDER_TRY(read_role(entry, message));
    RUDDER_TRY(read_content(entry, message));
    chat.request.messages.push_back(std::move(message));
  }
  return {};
}

Status read_number(const Json& from, std::string_view key, double low, double high, double& value) {
  if (!from.is_number() || !(from.get<double>() >= low && from.get<double>() <= high)) {
    return refused(fmt::format("{} must be a number of {} to {}", key, low, high));
  }
  value = from.get<double>();
  return {};
}

Status read_count(const Json& from, std::string_view key, std::uint32_t low, std::uint32_t high,
                  std::uint32_t& value) {
  if (!from.is_number_unsigned() || from.get<std::uint64_t>() < low || from.get<std::uint64_t>() > high) {
    return refused(fmt::format("{} must be a whole number of {} to {}", key, low, high));
  }
  value = from.get<std::uint32_t>();
  return {};
}

Status read_text(const Json& from, std::string_view key, std::size_t limit, std::string& value) {
  if (!from.is_string() || from.get_ref<const std::string&>().size() > limit) {
    return refused(fmt::format("{} must be a text of at most {} bytes", key, limit));
  }
  value = from.get<std::string>();
  return {};
}

Status read_response_format(const Json& from, ChatRequest& request) {
  const Json* const type = find_member(from, "type");
  if (type == nullptr || !type->is_string()) {
    return refused("response_format must have a type");
  }
  if (*type == "json_schema") {
    const Json* const outer = find_member(from, "json_schema");
    const Json* const schema = outer != nullptr ? find_member(*outer, "schema") : nullptr;
    if (schema == nullptr || !schema->is_object()) {
      return refused("response_format must have its schema in json_schema.schema");
    }
    request.json_schema = to_text(*schema);
  } else if (*type == "json_object") {
    request.json_schema = R"({"type":"object"})";
    if (request.grammar.empty()) {
      request.grammar = kJsonGrammar;
    }
  } else if (*type != "text") {
    return refused("response_format must be text, json_object or json_schema");
  }
  return {};
}

/// Fields that are served in one way only.
Status expect_only(std::string_view key, const Json& value) {
  struct Only {
    std::string_view key;
    Json value;
  };
  static const std::array<Only, 8> kOnly = {{{"stream", false},
                                             {"n", 1},
                                             {"top_p", 1},
                                             {"presence_penalty", 0},
                                             {"frequency_penalty", 0},
                                             {"stop", nullptr},
                                             {"tools", Json::array()},
                                             {"store", false}}};
  const auto only = std::ranges::find(kOnly, key, &Only::key);
  if (only != kOnly.end()) {
    return value.is_null() || value == only->value
               ? Status()
               : refused(fmt::format("{} can only be {} here", key, only->value.dump()));
  }
  constexpr auto kKnown = std::to_array<std::string_view>(
      {"messages", "model",   "max_tokens", "max_completion_tokens", "temperature",       "seed",
       "user",     "timeout", "grammar",    "response_format",       "logprobs",          "top_logprobs",
       "stream",   "n",       "top_p",      "presence_penalty",      "frequency_penalty", "stop",
       "tools",    "store"});
  const std::string shown = excerpt(key, 64);
  const std::string near = nearest_name(shown, kKnown);
  return refused(fmt::format("the field '{}' is not known{}", shown,
                             near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

Status read_field(const std::string& key, const Json& value, ReceivedChat& chat) {
  ChatRequest& request = chat.request;
  if (key == "messages") {
    return read_messages(value, chat);
  }
  if (key == "max_tokens" || key == "max_completion_tokens") {
    return read_count(value, key, 1, kMostReplyTokens, request.max_tokens);
  }
  if (key == "temperature") {
    return read_number(value, key, 0, 2, request.temperature);
  }
  if (key == "seed") {
    if (!value.is_number_integer()) {
      return refused("seed must be a whole number");
    }
    request.seed = value.get<std::uint64_t>();  // negative ones are as good as any
    return {};
  }
  if (key == "user") {
    return read_text(value, key, kMaxJobName, request.job);
  }
  if (key == "timeout") {
    double seconds = 0;
    RUDDER_TRY(read_number(value, key, 0, 86400, seconds));
    request.timeout = from_seconds(seconds);
    return {};
  }
  if (key == "grammar") {
    return read_text(value, key, kMaxRequestBody, request.grammar);
  }
  if (key == "logprobs") {
    if (!value.is_boolean()) {
      return refused("logprobs must be true or false");
    }
    chat.probabilities = value.get<bool>();
    return {};
  }
  if (key == "top_logprobs") {
    std::uint32_t ignored = 0;  // there are never more than kMaxChoices
    return read_count(value, key, 0, 20, ignored);
  }
  if (key == "model" || key == "response_format") {  // there is one model; the format comes after all others
    return {};
  }
  return expect_only(key, value);
}

}  // namespace

Result<ReceivedChat> read_chat_request(std::string_view body, const ChatRequest& defaults) {
  auto parsed = parse_bounded_json(body);
  if (!parsed.ok()) {
    return refused("the body is " + parsed.error().message);
  }
  if (!parsed->is_object()) {
    return refused("the body is no JSON object");
  }
  ReceivedChat chat{.request = defaults};
  for (const auto& [key, value] : parsed->items()) {
    if (!value.is_null() || key == "messages") {  // clients write null for what they leave out
      RUDDER_TRY(read_field(key, value, chat));
    }
  }
  if (chat.request.messages.empty()) {
    return refused("there are no messages");
  }
  if (const Json* const format = find_member(*parsed, "response_format");
      format != nullptr && !format->is_null()) {
    RUDDER_TRY(read_response_format(*format, chat.request));
  }
  return chat;
}

Result<std::string> write_chat_request(const ChatRequest& request, std::string_view model,
                                       const ChatFields& fields) {
  Json messages = Json::array();
  for (const Message& message : request.messages) {
    messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  Json body = {{"messages", std::move(messages)},
               {"max_tokens", request.max_tokens},
               {"temperature", request.temperature},
               {"seed", request.seed & 0x7FFFFFFFFFFFFFFF}};  // others take signed ones
  if (!model.empty()) {
    body["model"] = model;
  }
  if (!request.job.empty()) {
    body["user"] = request.job;
  }
  if (fields.extensions) {
    body["timeout"] = to_seconds(request.timeout);
    if (!request.grammar.empty()) {
      body["grammar"] = request.grammar;
    }
  }
  if (fields.response_format && !request.json_schema.empty()) {
    auto schema = parse_bounded_json(request.json_schema);
    if (!schema.ok()) {
      return Error{Errc::kInvalidArgument, "the reply's schema is " + schema.error().message};
    }
    body["response_format"] = {{"type", "json_schema"},
                               {"json_schema", {{"name", "reply"}, {"strict", true}, {"schema", *schema}}}};
  }
  if (fields.probabilities) {
    body["logprobs"] = true;
    body["top_logprobs"] = kMaxChoices;
  }
  return to_text(body);
}

}  // namespace rudder::llm

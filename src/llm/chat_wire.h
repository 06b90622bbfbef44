// SPDX-License-Identifier: Apache-2.0
// Chats as OpenAI-style JSON: POST .../chat/completions, both sides of it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "rudder/core/result.h"
#include "rudder/llm/model.h"

namespace rudder::llm {

/// Bodies are refused above these.
inline constexpr std::size_t kMaxReplyBody = std::size_t{4} << 20;
inline constexpr std::size_t kMaxRequestBody = std::size_t{1} << 20;

/// Which of a request's fields a server is asked to take.
struct ChatFields {
  bool extensions = false;       ///< grammar and timeout: rudder agent's; llama-server takes them too
  bool response_format = false;  ///< a JSON schema for the reply
  bool probabilities = false;    ///< logprobs
};
/// From most to least. What a server does not know it answers with status 400 or 422.
inline constexpr std::array<ChatFields, 5> kFieldLevels = {{{true, true, true},
                                                            {false, true, true},
                                                            {false, true, false},
                                                            {false, false, true},
                                                            {false, false, false}}};

/// The request's body. kInvalidArgument when its JSON schema is no JSON.
[[nodiscard]] Result<std::string> write_chat_request(const ChatRequest& request, std::string_view model,
                                                     const ChatFields& fields);
/// A reply's body, which may be anything. kPeer says what is wrong with it. Probabilities that make no sense
/// are left out.
[[nodiscard]] Result<ChatReply> read_chat_reply(std::string_view body);
/// What a body that tells an error says, or what can be shown of another one; one line.
[[nodiscard]] std::string read_error(std::string_view body);

struct ReceivedChat {
  ChatRequest request;
  bool probabilities = false;
};
/// A request's body, which may be anything. `request.timeout` stays what it is in `defaults` unless the body
/// names another. kInvalidArgument says what cannot be served.
[[nodiscard]] Result<ReceivedChat> read_chat_request(std::string_view body, const ChatRequest& defaults);
/// `number` makes the reply's id.
[[nodiscard]] std::string write_chat_reply(const ChatReply& reply, const ReceivedChat& chat,
                                           std::string_view model, std::uint64_t number);
[[nodiscard]] std::string write_error(std::string_view message, int status);

}  // namespace rudder::llm

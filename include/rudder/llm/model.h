// SPDX-License-Identifier: Apache-2.0
// A language model that completes a chat, wherever it runs. No library's type appears here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"

namespace rudder::llm {

struct Message {
  std::string role;  ///< system, user, assistant
  std::string content;
};

struct ChatRequest {
  std::vector<Message> messages;  ///< put first what stays the same: its key-value cache is kept
  /// The reply's form: a JSON schema for servers that take one, and the same as a GBNF grammar for those that
  /// take that. Empty: free text. Neither is a promise: replies are parsed as hostile.
  std::string json_schema;
  std::string grammar;
  std::uint32_t max_tokens = 96;
  double temperature = 0;
  std::uint64_t seed = 1;
  std::string job;                      ///< who asks: jobs of one server take turns
  Duration timeout = from_seconds(10);  ///< of the whole call, waiting in queues included
};

/// One token of a reply and what else might have stood there.
struct Token {
  struct Choice {
    std::string text;
    /// At temperature 1, among what the request's grammar lets stand here: those of all that it lets add up
    /// to 1. That is the confidence in a constrained token. Some servers tell it before their grammar.
    double probability = 0;
  };
  std::string text;
  /// Most probable first, at most kMaxChoices, the chosen one among them.
  std::vector<Choice> choices;
  /// What all that the grammar lets stand here would have had without it: how far the model meant to keep to
  /// the form. A choice's probability times this is its probability before the grammar. 1 where there is no
  /// grammar or nobody tells, and where the grammar left no choice, so that the model was not asked.
  double allowed = 1;
};

inline constexpr std::size_t kMaxChoices = 8;

struct ChatReply {
  std::string text;           ///< as it came, at most kMaxReplyBytes; any bytes
  std::vector<Token> tokens;  ///< empty where the model doesn't tell probabilities
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;  ///< of the prompt, not computed anew; 0 where the model doesn't tell
  std::uint64_t reply_tokens = 0;
  double seconds = 0;  ///< of the whole call
};

/// A longer reply is an error.
inline constexpr std::size_t kMaxReplyBytes = 64 * 1024;

/// Thread-safe: calls queue up.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// Blocks, at most request.timeout and a little. Errors: kTimeout, kPeer (not reachable, server error,
  /// broken off: worth another try), kInvalidArgument (the request can't succeed: too long, refused, no such
  /// model), kCancelled after stop().
  [[nodiscard]] virtual Result<ChatReply> complete(const ChatRequest& request) = 0;
  /// Makes calls end with kCancelled soon, now and later. Any thread.
  virtual void stop() = 0;
  [[nodiscard]] virtual std::string name() const = 0;
};

}  // namespace rudder::llm

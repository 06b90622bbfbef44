// SPDX-License-Identifier: Apache-2.0
// Between chats and a model's tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/llm/model.h"

struct llama_model;
struct llama_vocab;

namespace rudder::llm {

class LlamaText {
 public:
  /// `name` is for messages. The model must outlive it.
  LlamaText(const llama_model& model, std::string name);

  /// The chat in the form of the model's own template, ready for the assistant's words; in a plain form where
  /// it has none that is known. Contents cannot pass for control tokens.
  [[nodiscard]] Result<std::vector<std::int32_t>> tokens_of(const std::vector<Message>& chat) const;
  /// A piece of a reply as the model would have written it; nothing when its tokens would not add up to it.
  [[nodiscard]] std::vector<std::int32_t> tokens_of(const std::string& piece) const;
  [[nodiscard]] std::string text_of(std::int32_t token) const;
  /// The model has finished.
  [[nodiscard]] bool is_end(std::int32_t token) const;
  [[nodiscard]] const llama_vocab& vocabulary() const { return *vocab_; }

 private:
  [[nodiscard]] std::string rendered(const std::vector<Message>& chat) const;
  [[nodiscard]] std::string harmless(std::string text) const;
  [[nodiscard]] std::vector<std::int32_t> tokenized(const std::string& text, bool special) const;

  std::string name_;
  const llama_vocab* vocab_;
  std::string template_;                    ///< empty: the plain form
  std::vector<std::string> control_texts_;  ///< of tokens that structure chats
};

}  // namespace rudder::llm

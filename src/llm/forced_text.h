// SPDX-License-Identifier: Apache-2.0
// What a grammar demands whatever the model would say.
#pragma once

#include <cstdint>
#include <vector>

#include "llm/llama_text.h"

struct llama_sampler;

namespace rudder::llm {

/// Finds the text that must stand next, byte by byte, so that a model computes it as it computes a prompt, in
/// one go, instead of being asked for each of its tokens. Of a reply in JSON, that is most.
class ForcedText {
 public:
  /// The text must outlive it.
  explicit ForcedText(const LlamaText& text);

  /// Tokens of the longest text that the grammar in this state leaves no choice about, at most kMost bytes;
  /// none where there is a choice, the end counting as one. O(bytes) times a grammar's look at a few hundred
  /// tokens.
  [[nodiscard]] std::vector<std::int32_t> tokens(const llama_sampler& grammar) const;

 private:
  static constexpr std::size_t kMost = 256;

  const LlamaText* text_;
  /// For each byte the token that is it; where there is none, all tokens that begin with it. And all that
  /// end a reply, of which a model may have none.
  std::vector<std::int32_t> alphabet_;
};

}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
#include "llm/forced_text.h"

#include <array>
#include <cmath>
#include <string>

#include <llama.h>

#include "llm/llama_library.h"

namespace rudder::llm {

ForcedText::ForcedText(const LlamaText& text) : text_(&text) {
  const llama_vocab* const vocab = &text.vocabulary();
  std::array<std::vector<std::int32_t>, 256> beginning_with;
  for (std::int32_t token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
    const std::string piece = text.text_of(token);
    if (text.is_end(token)) {
      alphabet_.push_back(token);
      continue;
    }
    if (piece.empty()) {
      continue;
    }
    std::vector<std::int32_t>& tokens = beginning_with[static_cast<unsigned char>(piece[0])];
    const bool alone = tokens.size() == 1 && text.text_of(tokens[0]).size() == 1;
    if (piece.size() == 1) {
      tokens.assign(1, token);
    } else if (!alone) {
      tokens.push_back(token);
    }
  }
  for (const std::vector<std::int32_t>& tokens : beginning_with) {
    alphabet_.insert(alphabet_.end(), tokens.begin(), tokens.end());
  }
}

std::vector<std::int32_t> ForcedText::tokens(const llama_sampler& grammar) const {
  std::string forced;
  const LlamaSampler ahead(llama_sampler_clone(&grammar));
  std::vector<llama_token_data> candidates;
  while (forced.size() < kMost) {
    candidates.clear();
    for (const std::int32_t token : alphabet_) {
      candidates.push_back({token, 0, 0});
    }
    llama_token_data_array part{candidates.data(), candidates.size(), -1, false};
    llama_sampler_apply(ahead.get(), &part);
    std::erase_if(candidates, [](const llama_token_data& each) { return !std::isfinite(each.logit); });
    if (candidates.size() != 1 || text_->is_end(candidates[0].id)) {
      break;
    }
    forced += text_->text_of(candidates[0].id);
    llama_sampler_accept(ahead.get(), candidates[0].id);
  }
  return text_->tokens_of(forced);
}

}  // namespace rudder::llm

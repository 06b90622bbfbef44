// SPDX-License-Identifier: Apache-2.0
#include "llm/prefix_slots.h"

#include <algorithm>

namespace rudder::llm {

PrefixSlots::Found PrefixSlots::begin(const std::string& job, std::span<const std::int32_t> prompt) {
  auto slot = std::ranges::find_if(slots_, [&](const Slot& s) { return s.used > 0 && s.job == job; });
  if (slot == slots_.end()) {
    slot = std::ranges::min_element(slots_, {}, &Slot::used);
    slot->job = job;
    slot->tokens.clear();
  }
  slot->used = ++prompts_;
  const auto [differs, end] = std::ranges::mismatch(slot->tokens, prompt);
  const auto common = static_cast<std::size_t>(differs - slot->tokens.begin());
  const std::size_t most = prompt.empty() ? 0 : prompt.size() - 1;  // the last one's logits are needed
  const std::size_t kept = std::min(common, most) / chunk_ * chunk_;
  slot->tokens.resize(kept);
  return {static_cast<std::size_t>(slot - slots_.begin()), kept};
}

void PrefixSlots::computed(std::size_t slot, std::span<const std::int32_t> chunk) {
  if (chunk.size() == chunk_) {
    slots_[slot].tokens.insert(slots_[slot].tokens.end(), chunk.begin(), chunk.end());
  }
}

}  // namespace rudder::llm

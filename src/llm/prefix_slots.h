// SPDX-License-Identifier: Apache-2.0
// Which tokens of earlier prompts are computed already: the bookkeeping of key-value caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rudder::llm {

/// Each job has a slot, until more jobs than slots ask.
///
/// Prompts are computed in chunks of a fixed size that start at its multiples, and only whole chunks are
/// kept. So a token's neighbours in a computation, and with them the last bits of its numbers, are the same
/// whether what stands before it was kept or not.
class PrefixSlots {
 public:
  PrefixSlots(std::size_t slots, std::size_t chunk) : slots_(slots), chunk_(chunk) {}

  struct Found {
    std::size_t slot = 0;
    std::size_t kept = 0;  ///< leading tokens of the prompt that the slot holds: a multiple of the chunk, and
                           ///< fewer than the prompt has
  };
  /// The job's slot, else an unused one, else the one whose last prompt is the oldest. It holds `kept` tokens
  /// from here on.
  [[nodiscard]] Found begin(const std::string& job, std::span<const std::int32_t> prompt);
  /// The next chunk of the prompt was computed; one that is not whole is not remembered.
  void computed(std::size_t slot, std::span<const std::int32_t> chunk);
  /// The slot holds nothing.
  void forget(std::size_t slot) { slots_[slot].tokens.clear(); }

 private:
  struct Slot {
    std::string job;
    std::uint64_t used = 0;  ///< 0: never
    std::vector<std::int32_t> tokens;
  };
  std::vector<Slot> slots_;
  std::size_t chunk_;
  std::uint64_t prompts_ = 0;
};

}  // namespace rudder::llm

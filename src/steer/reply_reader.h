// SPDX-License-Identifier: Apache-2.0
// Finds the decision fields in a reply of any shape. Nothing here trusts a byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rudder/steer/decision.h"

#include "steer/reply_words.h"

namespace rudder::steer {

/// Decision fields of one standing.
struct DecisionField {
  std::uint32_t actions = 0;                ///< a bit for each action that they name
  std::optional<std::string_view> unknown;  ///< the first value that names none
  std::string_view value;                   ///< the first that names one, trimmed
  bool unfinished = false;                  ///< the reply ends within one

  [[nodiscard]] bool any() const noexcept { return actions != 0 || unknown.has_value() || unfinished; }
  void add(const DecisionField& other);
};

/// What a reply says. Views are parts of the reply; escapes in them stand as they came.
struct ReplyReading {
  DecisionField decision;
  std::string_view reason;  ///< of the first object with a decision
  std::optional<Direction> hits, traffic;
  std::size_t answer = 0;             ///< where the answer begins: behind the reasoning
  bool unfinished_reasoning = false;  ///< the reply ends inside of reasoning
};

/// O(reply) time, O(1) memory, at most kMaxNesting frames of stack.
///
/// The answer is what follows the last end of reasoning (`</think>` and the like) outside of objects.
/// Decision fields are members of objects in it, lines `decision: ACTION` outside of objects, or else the
/// answer as a whole when it is one word. Inside an object a key that says decision comes before one that
/// means it, and either before those in wrapped objects. Strings and all that lies under other keys are never
/// looked into.
[[nodiscard]] ReplyReading read_reply(std::string_view reply, const std::vector<Spelling>& spellings);

inline constexpr std::size_t kMaxNesting = 16;

}  // namespace rudder::steer

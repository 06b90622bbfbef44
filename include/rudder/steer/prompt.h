// SPDX-License-Identifier: Apache-2.0
// What a language model is told, and what is made of its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/llm/model.h"
#include "rudder/steer/action.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

/// Version of the templates; part of every recorded decision, changed with every change of a template.
inline constexpr std::string_view kPromptVersion = "1";

struct PromptOptions {
  std::string language = "en";  ///< en, zh
  bool reasoning = false;       ///< asks for reasoning before the answer
  std::size_t max_bytes =
      6000;  ///< of all messages; the oldest history and the farthest demonstrations go first
};

/// A decision of before with what came of it.
struct Episode {
  std::string action;
  Expected observed;
};

/// The chat: a system message that is the same for the whole run (role, metrics, actions, rules, form of the
/// answer), then each demonstration as a user's and an assistant's message, nearest last, then the window.
/// Its size does not depend on the batch or the graph.
[[nodiscard]] std::vector<llm::Message> make_prompt(const ActionSet& actions,
                                                    std::span<const Experience> demonstrations,
                                                    std::span<const Episode> history, const Report& report,
                                                    const PromptOptions& options);

/// The reply's form: {"decision": one of the actions, "reason": text, "expected": {"hits", "traffic":
/// increase, decrease or stagnant}}, decision first, so that its token's probability is the confidence.
[[nodiscard]] std::string reply_schema(const ActionSet& actions);
[[nodiscard]] std::string reply_grammar(const ActionSet& actions);

struct ParsedReply {
  std::size_t action = 0;
  std::string reason;  ///< valid UTF-8, at most 400 bytes, one line
  std::optional<Expected> expected;
  bool strict = false;  ///< the reply was exactly the form asked for
};

/// Reads a reply of any shape: reasoning in <think> or prose before the object, code fences, other spellings
/// of keys and values (yes/no, "Replace.", true), trailing commas, text behind. The decision field alone
/// decides; words inside of explanations never do. Refused: no decision, several that contradict each other,
/// an action that isn't in the set, a cut-off object without its decision. O(reply), bounded nesting; any
/// bytes.
[[nodiscard]] Result<ParsedReply> parse_reply(std::string_view reply, const ActionSet& actions);

/// Probability of the chosen action by the tokens of its name; 1 when the model tells none.
[[nodiscard]] double confidence_of(const llm::ChatReply& reply, const ActionSet& actions, std::size_t action);

}  // namespace rudder::steer

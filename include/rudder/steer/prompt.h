// SPDX-License-Identifier: Apache-2.0
// What a language model is told, and what is made of its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  std::string language = "en";   ///< en, zh
  bool reasoning = false;        ///< asks for reasoning before the answer
  std::size_t figures = 4;       ///< at most, of each window, when there are demonstrations: see make_prompt
  std::size_t max_bytes = 4000;  ///< of all messages' contents
};

/// A decision of before with what came of it.
struct Episode {
  std::string action;
  Expected observed;
  friend bool operator==(const Episode&, const Episode&) = default;
};

/// The chat: a system message that is the same for a whole run (role, actions, form of the answer), so that
/// its key-value cache is kept; what happened (history, oldest first, busy owners, events) with an
/// acknowledgement, when anything did; each demonstration as a user's line of levels and an assistant's
/// decision, the nearest last; the window as such a line. User and assistant take turns. Lines show those
/// figures that differ between them and tell most about the best action; without demonstrations, all. Size
/// does not depend on the batch or the graph.
///
/// `demonstrations`: the nearest first, as Memory::nearest() gives them. Over the budget, history goes first
/// (the oldest first), then demonstrations (the farthest first), then events; the system's message and the
/// window stay. An error when they alone are over it, or there is no template of that language.
[[nodiscard]] Result<std::vector<llm::Message>> make_prompt(const ActionSet& actions,
                                                            std::span<const Experience> demonstrations,
                                                            std::span<const Episode> history,
                                                            const Report& report,
                                                            const PromptOptions& options);

/// For fine-tuning: the prompt about a labelled window, and in one more message of the assistant the answer
/// that would have been best. Its reason are the figures of the window's line that are not medium; `expected`
/// is left out when it is not known.
[[nodiscard]] Result<std::vector<llm::Message>> make_example(
    const ActionSet& actions, std::span<const Experience> demonstrations, std::span<const Episode> history,
    const Experience& window, const std::optional<Expected>& expected, const PromptOptions& options);

/// The reply's form: {"decision": one of the actions, "reason": text, "expected": {"hits", "traffic":
/// increase, decrease or stagnant}}, decision first, so that its token's probability is the confidence. As a
/// JSON schema, and as a GBNF grammar that also bounds the reasoning before it.
[[nodiscard]] std::string reply_schema(const ActionSet& actions);
[[nodiscard]] std::string reply_grammar(const ActionSet& actions, const PromptOptions& options);
/// Tokens in which every reply of the grammar ends: its longest one's bytes, as no token has less than one.
[[nodiscard]] std::uint32_t reply_tokens(const ActionSet& actions, const PromptOptions& options);

struct ParsedReply {
  std::size_t action = 0;
  std::string reason;  ///< valid UTF-8, at most 400 bytes, one line
  std::optional<Expected> expected;
  bool strict = false;  ///< the reply, apart from reasoning before it, was exactly the form asked for
};

/// Reads a reply of any shape: reasoning in <think> or prose before the object, code fences, other spellings
/// of keys and values (yes/no, "Replace.", true, numbers counted from 0 as the prompt does), other quotes,
/// trailing commas, text behind. Decision fields alone decide: members of objects, lines "decision: ACTION",
/// or an answer that is one word; words inside of explanations never do. Refused: no decision, several that
/// contradict each other, an action that isn't in the set, an object cut off inside or before its decision.
/// O(reply), bounded nesting; any bytes.
[[nodiscard]] Result<ParsedReply> parse_reply(std::string_view reply, const ActionSet& actions);

/// Probability of the chosen action by the tokens of its name: along them, all that would have led to another
/// action's name stands against it, however either is spelled or cut into tokens. 1 when the model tells no
/// probabilities there.
[[nodiscard]] double confidence_of(const llm::ChatReply& reply, const ActionSet& actions, std::size_t action);

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// The words by which models name keys, actions and directions, in the languages of our prompts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/steer/action.h"
#include "rudder/steer/decision.h"

namespace rudder::steer {

/// Longer texts are no words.
inline constexpr std::size_t kMaxWordBytes = 256;
/// Without blanks, quotes, emphasis and punctuation around it; a part of `text`. Longer texts as they are.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;
/// trimmed(), ASCII letters small, blanks and underscores inside as '-'. Empty for longer texts.
[[nodiscard]] std::string folded(std::string_view text);

/// What a key of a reply's object is for.
enum class ReplyKey : std::uint8_t {
  kOther,
  kDecision,  ///< decision
  kChoice,    ///< action, answer, ...: meant as the decision where no key says so outright
  kReason,
  kExpected,
  kHits,
  kTraffic,
  kWrapper,  ///< response, output, ...: the object meant may lie inside
};
[[nodiscard]] ReplyKey key_of(std::string_view key);

/// One way to write an action, folded.
struct Spelling {
  std::string text;
  std::size_t action = 0;
};
/// Names; for yes-or-no sets also yes, no and the like; numbers as the prompt counts, from 0.
[[nodiscard]] std::vector<Spelling> spellings_of(const ActionSet& actions);
/// The action that the whole text spells; nothing for any other text.
[[nodiscard]] std::optional<std::size_t> action_of(std::string_view text,
                                                   const std::vector<Spelling>& spellings);
[[nodiscard]] std::optional<Direction> direction_of(std::string_view text);

}  // namespace rudder::steer

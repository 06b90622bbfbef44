// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "rudder/core/result.h"

namespace rudder::llm {

/// JSON from outside: valid UTF-8, at most 32 levels deep. kInvalidData says what it is instead, without a
/// context.
[[nodiscard]] Result<nlohmann::json> parse_bounded_json(std::string_view text);

/// As JSON; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string to_text(const nlohmann::json& json);

/// The member, or null when there is none or `object` is none.
[[nodiscard]] const nlohmann::json* find_member(const nlohmann::json& object, std::string_view key);

/// At most `limit` bytes for a message to people, in one line, cut at a character's border. What is no UTF-8
/// loses its bytes above 0x7F.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t limit);

}  // namespace rudder::llm

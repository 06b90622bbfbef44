// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "rudder/core/result.h"

namespace rudder::place {

/// Which members of objects are kept. Dumps of clusters carry a hundred times what is needed.
struct JsonFilter {
  std::span<const std::string_view> keep;        ///< keys kept at any depth; empty keeps all
  std::span<const std::string_view> keep_whole;  ///< kept with everything below (labels have any keys)
};

/// Parses JSON from outside without recursion: at most 64 deep, at most 2^25 kept values, no key twice in an
/// object. Errors: kInvalidData with `where`, line and column.
[[nodiscard]] Result<nlohmann::json> parse_json(const std::string& where, std::string_view text,
                                                const JsonFilter& filter = {});

/// The member as text, or empty when there is none or it is no text.
[[nodiscard]] std::string_view text_member(const nlohmann::json& object, std::string_view key);
/// The member, or null when there is none or `object` is none.
[[nodiscard]] const nlohmann::json* member(const nlohmann::json& object, std::string_view key);

}  // namespace rudder::place

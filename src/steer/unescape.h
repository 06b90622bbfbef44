// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace rudder::steer {

/// The text behind JSON's escapes. An escape that JSON doesn't know stands for what follows the backslash,
/// half a surrogate pair for U+FFFD. O(raw).
[[nodiscard]] std::string unescaped(std::string_view raw);

}  // namespace rudder::steer

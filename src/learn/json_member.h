// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

namespace rudder::learn {

/// A member of what may be no object and may not have it: null then.
[[nodiscard]] inline const nlohmann::json& at(const nlohmann::json& json, const char* key) {
  static const nlohmann::json kNothing;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() ? *found : kNothing;
}

}  // namespace rudder::learn

// SPDX-License-Identifier: Apache-2.0
// A literal checker of the part of JSON Schema that our schemas use. A keyword beyond it is an error, not
// passed over.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace rudder::testing_support {

inline std::size_t code_points(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) {
    count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80 ? 1 : 0;
  }
  return count;
}

inline bool matches(const nlohmann::json& value, const nlohmann::json& schema) {
  bool ok = true;
  for (const auto& [keyword, wanted] : schema.items()) {
    if (keyword == "type") {
      ok = ok && (wanted == "object" ? value.is_object() : wanted == "string" && value.is_string());
    } else if (keyword == "enum") {
      bool found = false;
      for (const auto& each : wanted) {
        found = found || each == value;
      }
      ok = ok && found;
    } else if (keyword == "maxLength") {
      ok = ok && value.is_string() && code_points(value.get<std::string>()) <= wanted.get<std::size_t>();
    } else if (keyword == "required") {
      for (const auto& key : wanted) {
        ok = ok && value.contains(key.get<std::string>());
      }
    } else if (keyword == "properties") {
      for (const auto& [key, of_member] : wanted.items()) {
        ok = ok && (!value.contains(key) || matches(value[key], of_member));
      }
    } else if (keyword == "additionalProperties" && wanted == false) {
      for (const auto& [key, member] : value.items()) {
        ok = ok && schema["properties"].contains(key);
      }
    } else {
      throw std::runtime_error("keyword '" + keyword + "' is not known here");
    }
  }
  return ok;
}

}  // namespace rudder::testing_support

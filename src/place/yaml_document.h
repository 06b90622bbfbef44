// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

#include "place/topology_builder.h"

namespace rudder::place {

/// A value of a YAML document with the line where it starts.
struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::size_t line = 0;           ///< from 1
  std::string text;               ///< kScalar
  std::vector<YamlNode> items;    ///< of a list, or a map's values in the file's order
  std::vector<std::string> keys;  ///< kMap: one a value

  /// The map's value for a key, or null.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

/// Where it stands.
[[nodiscard]] inline Place at(const YamlNode& node) {
  return {node.line, {}};
}

/// All documents of a text from outside: at most 64 deep, 2^24 values, no anchors or aliases (a few lines of
/// them expand to billions of values), no key twice in a map, keys are scalars. Errors: kInvalidData with
/// `where` and line.
[[nodiscard]] Result<std::vector<YamlNode>> parse_yaml(const std::string& where, std::string_view text);

}  // namespace rudder::place

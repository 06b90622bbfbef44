// SPDX-License-Identifier: Apache-2.0
// The control format of Debian's package lists, as far as a dependency graph needs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::graph {

/// One stanza. The views point into the parsed text; an absent field is empty. Values keep their continuation
/// lines.
struct DebianPackage {
  std::string_view name;
  std::string_view section;
  std::string_view description;
  std::string_view provides;
  std::string_view depends;
  std::string_view pre_depends;
  std::string_view recommends;
  std::size_t line = 0;  ///< where the stanza begins, from 1
};

/// Parses stanzas "Field: value" with continuation lines that begin with a space or tab, separated by empty
/// lines. An error names the line. One pass, no copies.
[[nodiscard]] Result<std::vector<DebianPackage>> parse_control(std::string_view text);

/// The alternatives of each clause of a relation field: "a (>= 1) | b:any, c" gives {{a, b}, {c}}. Versions,
/// architectures and profiles are left out. An error names the part without a package name.
[[nodiscard]] Result<std::vector<std::vector<std::string_view>>> parse_relations(std::string_view field);

}  // namespace rudder::graph

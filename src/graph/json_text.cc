// SPDX-License-Identifier: Apache-2.0
#include "graph/json_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/files.h"

namespace rudder::graph {
namespace {

constexpr int kMaxDepth = 32;

int nesting(const std::string& text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<std::string> read_json_text(const std::filesystem::path& path, std::size_t limit) {
  RUDDER_ASSIGN(std::string text, read_text(path, limit));
  if (const int depth = nesting(text); depth > kMaxDepth) {
    return Error{Errc::kInvalidData, fmt::format("{}: JSON nests {} deep, more than {} allowed",
                                                 path.string(), depth, kMaxDepth)};
  }
  return text;
}

}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "rudder/core/result.h"

namespace rudder::llm {

inline constexpr std::size_t kMaxGrammarBytes = 16 * 1024;
/// The rule that a reply follows.
inline constexpr const char* kGrammarRoot = "root";

/// Grammars come from outside, and llama.cpp reads them recursively: sizes and nesting that it takes without
/// running out of stack.
[[nodiscard]] Status check_grammar_limits(std::string_view grammar);

}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
#include "llm/grammar_limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace rudder::llm {
namespace {

constexpr std::ptrdiff_t kMaxOpen = 100;  // a parenthesis in a literal counts too: an upper bound is enough

}  // namespace

Status check_grammar_limits(std::string_view grammar) {
  if (grammar.size() > kMaxGrammarBytes) {
    return Error{Errc::kInvalidArgument, fmt::format("a grammar of {} bytes; at most {} are taken",
                                                     grammar.size(), kMaxGrammarBytes)};
  }
  // llama.cpp writes the grammars that it cannot read to standard error, as they are.
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F;
  };
  if (std::ranges::any_of(grammar, is_control)) {
    return Error{Errc::kInvalidArgument, "a grammar with control characters; write them as \\x00"};
  }
  if (const auto open = std::ranges::count(grammar, '('); open > kMaxOpen) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("a grammar with {} parentheses; at most {} are taken", open, kMaxOpen)};
  }
  return {};
}

}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "rudder/core/ids.h"
#include "rudder/steer/prompt.h"

namespace rudder::steer {
namespace {

constexpr std::size_t kReasonCharacters = 60;
constexpr std::size_t kReasoningCharacters = 600;
constexpr std::size_t kBytesPerCharacter = 4;

std::size_t longest_name(const ActionSet& actions) {
  std::size_t longest = 0;
  for (const Action& action : actions.actions) {
    longest = std::max(longest, action.name.size());
  }
  return longest;
}

}  // namespace

std::string reply_schema(const ActionSet& actions) {
  using json = nlohmann::ordered_json;
  json names = json::array();
  for (const Action& action : actions.actions) {
    names.push_back(action.name);
  }
  const json direction = {{"type", "string"}, {"enum", {"increase", "decrease", "stagnant"}}};
  const json schema = {{"type", "object"},
                       {"properties",
                        {{"decision", {{"type", "string"}, {"enum", names}}},
                         {"reason", {{"type", "string"}, {"maxLength", kReasonCharacters}}},
                         {"expected",
                          {{"type", "object"},
                           {"properties", {{"hits", direction}, {"traffic", direction}}},
                           {"required", {"hits", "traffic"}},
                           {"additionalProperties", false}}}}},
                       {"required", {"decision", "reason", "expected"}},
                       {"additionalProperties", false}};
  return schema.dump();
}

std::string reply_grammar(const ActionSet& actions, const PromptOptions& options) {
  std::vector<std::string> names;
  for (const Action& action : actions.actions) {
    names.push_back(fmt::format("\"{}\"", action.name));
  }
  return fmt::format(
      R"(root ::= {}"{{\"decision\": \"" action "\", \"reason\": \"" reason "\", \"expected\": {{\"hits\": \"" direction "\", \"traffic\": \"" direction "\"}}}}"
action ::= {}
direction ::= "increase" | "decrease" | "stagnant"
reason ::= [^"\\\x00-\x1F\x7F]{{0,{}}}
{})",
      options.reasoning ? "thought " : "", fmt::join(names, " | "), kReasonCharacters,
      options.reasoning
          ? fmt::format("thought ::= \"<think>\" [^<\\x00-\\x08\\x7F]{{0,{}}} \"</think>\" \"\\n\"\n",
                        kReasoningCharacters)
          : "");
}

std::uint32_t reply_tokens(const ActionSet& actions, const PromptOptions& options) {
  constexpr std::string_view kForm =
      R"({"decision": "", "reason": "", "expected": {"hits": "increase", "traffic": "increase"}})";
  constexpr std::string_view kTags = "<think></think>\n";
  std::size_t bytes = kForm.size() + longest_name(actions) + kReasonCharacters * kBytesPerCharacter;
  if (options.reasoning) {
    bytes += kTags.size() + kReasoningCharacters * kBytesPerCharacter;
  }
  return narrow<std::uint32_t>(bytes);
}

}  // namespace rudder::steer

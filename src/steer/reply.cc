// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "rudder/core/text.h"
#include "rudder/steer/prompt.h"

#include "steer/reply_reader.h"
#include "steer/reply_words.h"
#include "steer/unescape.h"

namespace rudder::steer {
namespace {

constexpr std::size_t kMaxReasonBytes = 400;
/// Of a reply or value, in errors.
constexpr std::size_t kShownBytes = 80;

Error refused(std::string why) {
  return {Errc::kInvalidData, std::move(why)};
}

std::string names_of(const ActionSet& actions, std::uint32_t mask) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < actions.actions.size(); ++i) {
    if ((mask >> i & 1U) != 0) {
      names.push_back(actions.actions[i].name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string without_blanks_around(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(' ') + 1 - first);
}

/// Whether the answer is JSON of exactly the form that reply_schema() states, in its order.
bool is_exact(std::string_view answer, const ActionSet& actions) {
  using json = nlohmann::ordered_json;
  if (answer.size() > llm::kMaxReplyBytes) {
    return false;
  }
  const json reply = json::parse(answer.begin(), answer.end(), nullptr, false);
  const auto has_keys = [](const json& object, std::initializer_list<std::string_view> keys) {
    return object.is_object() && object.size() == keys.size() &&
           std::equal(keys.begin(), keys.end(), object.items().begin(),
                      [](std::string_view key, const auto& item) { return item.key() == key; });
  };
  const auto is_direction = [](const json& value) {
    return value == "increase" || value == "decrease" || value == "stagnant";
  };
  return has_keys(reply, {"decision", "reason", "expected"}) && reply["decision"].is_string() &&
         actions.find(reply["decision"].get_ref<const std::string&>()) != kMaxActions &&
         reply["reason"].is_string() && has_keys(reply["expected"], {"hits", "traffic"}) &&
         is_direction(reply["expected"]["hits"]) && is_direction(reply["expected"]["traffic"]);
}

}  // namespace

Result<ParsedReply> parse_reply(std::string_view reply, const ActionSet& actions) {
  const ReplyReading reading = read_reply(reply, spellings_of(actions));
  const DecisionField& decision = reading.decision;
  if (reading.unfinished_reasoning) {
    return refused("the reply ends before its reasoning does");
  }
  if (decision.unknown) {
    return refused(fmt::format("the reply decides '{}', which is none of {}",
                               one_line(*decision.unknown, kShownBytes), names_of(actions, ~0U)));
  }
  if (std::popcount(decision.actions) > 1) {
    return refused(fmt::format("the reply decides {}, which contradict each other",
                               names_of(actions, decision.actions)));
  }
  if (decision.actions == 0 && decision.unfinished) {
    return refused("the reply ends within its decision");
  }
  if (decision.actions == 0) {
    return refused(fmt::format("no decision in the reply '{}'", one_line(reply, kShownBytes)));
  }
  ParsedReply parsed;
  parsed.action = static_cast<std::size_t>(std::countr_zero(decision.actions));
  // Escapes are at most six times as long as what they stand for.
  parsed.reason = without_blanks_around(
      one_line(unescaped(reading.reason.substr(0, 6 * kMaxReasonBytes)), kMaxReasonBytes));
  if (reading.hits && reading.traffic) {
    parsed.expected = Expected{*reading.hits, *reading.traffic};
  }
  parsed.strict = is_exact(reply.substr(reading.answer), actions);
  return parsed;
}

}  // namespace rudder::steer

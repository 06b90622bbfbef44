// SPDX-License-Identifier: Apache-2.0
// Replies of language models.
#include <algorithm>
#include <string>
#include <vector>

#include "rudder/core/text.h"
#include "rudder/steer/prompt.h"

#include "fuzz_input.h"

namespace rudder::steer {
namespace {

ActionSet actions_of(std::uint64_t kind) {
  if (kind == 0) {
    return replace_actions();
  }
  ActionSet knobs;
  knobs.name = "knobs";
  for (const char* name : {"depth1", "depth16", "depth16-slow", "lru", "lfu"}) {
    knobs.actions.push_back({name, "a setting", {}});
  }
  return knobs;
}

bool is_utf8_line(std::string_view text) {
  return one_line(text, text.size()) == text;
}

void parse(std::string_view reply, const ActionSet& actions) {
  const auto parsed = parse_reply(reply, actions);
  if (!parsed.ok()) {
    RUDDER_CHECK(parsed.error().code == Errc::kInvalidData && is_utf8_line(parsed.error().message),
                 "refusals are one line");
    return;
  }
  RUDDER_CHECK(parsed->action < actions.actions.size(), "actions are of the set");
  RUDDER_CHECK(parsed->reason.size() <= 400 && is_utf8_line(parsed->reason), "reasons are one bounded line");
  // Whatever follows in prose can only take a decision away, never turn it.
  const auto longer = parse_reply(std::string(reply) + "\n\nYes, no: skip, replace, depth1.", actions);
  RUDDER_CHECK(!longer.ok() || longer->action == parsed->action, "prose decides nothing");
}

void confidence(fuzz::Input& input, const ActionSet& actions) {
  llm::ChatReply reply;
  while (!input.empty()) {
    llm::Token token;
    const auto text = [&] {
      const auto bytes = input.bytes(input.below(12));
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    token.text = text();
    for (std::uint64_t i = input.below(4); i > 0; --i) {
      token.choices.push_back({i == 1 ? token.text : text(), static_cast<double>(input.integer(1)) / 128});
    }
    reply.tokens.push_back(token);
  }
  for (std::size_t action = 0; action < actions.actions.size(); ++action) {
    const double told = confidence_of(reply, actions, action);
    RUDDER_CHECK(told >= 0 && told <= 1, "confidences are probabilities");
  }
}

}  // namespace
}  // namespace rudder::steer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  const std::uint64_t what = input.below(2);
  const auto actions = rudder::steer::actions_of(input.below(2));
  if (what == 0) {
    rudder::steer::parse(input.text(), actions);
  } else {
    rudder::steer::confidence(input, actions);
  }
  return 0;
}

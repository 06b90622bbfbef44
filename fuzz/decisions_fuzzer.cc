// SPDX-License-Identifier: Apache-2.0
// Logs of decisions: what is accepted is of the set, in order, and comes back from its own text.
#include <string>
#include <vector>

#include "rudder/core/text.h"
#include "rudder/steer/controller.h"
#include "rudder/steer/decision_log.h"

#include "fuzz_input.h"

namespace rudder::steer {
namespace {

std::string text_of(const std::vector<LoggedDecision>& log, const ActionSet& actions) {
  std::string text;
  for (const LoggedDecision& logged : log) {
    DecisionRecord record;
    record.sequence = logged.sequence;
    record.verdict = logged.verdict.value_or(Verdict::kNoTrigger);
    record.decision = logged.decision;
    record.from_cache = logged.from_cache;
    record.applied = logged.applied;
    record.staleness = logged.staleness;
    text += json_of(record, actions) + "\n";
  }
  return text;
}

void parse(std::string_view text) {
  const ActionSet actions = replace_actions();
  const auto log = parse_decisions(text, actions);
  if (!log.ok()) {
    const std::string& message = log.error().message;
    RUDDER_CHECK(log.error().code == Errc::kInvalidData && one_line(message, message.size()) == message,
                 "refusals are one line");
    return;
  }
  for (std::size_t i = 0; i < log->size(); ++i) {
    RUDDER_CHECK((*log)[i].applied < actions.actions.size(), "actions are of the set");
    RUDDER_CHECK(i == 0 || (*log)[i - 1].sequence < (*log)[i].sequence, "windows come in order");
  }
  const LogSummary summary = summarize(*log, costs_of(*log, {}, actions));
  RUDDER_CHECK(summary.windows == log->size() && summary.labelled == 0, "all lines are counted");
  const std::string again = text_of(*log, actions);
  const auto twice = parse_decisions(again, actions);
  RUDDER_CHECK(twice.ok() && text_of(*twice, actions) == again, "logs come back");
}

}  // namespace
}  // namespace rudder::steer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  rudder::steer::parse(input.text());
  return 0;
}

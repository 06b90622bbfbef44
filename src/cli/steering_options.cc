// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/text.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/window.h"

#include "cli/agent_options.h"
#include "cli/run_options.h"

namespace rudder::cli {
namespace {

/// A list that may be empty. `parse_part` reads one of its values.
template <class Value, class ParsePart>
Option list_option(std::string key, std::string help, std::string bounds, std::vector<Value>& target,
                   ParsePart parse_part) {
  Option option;
  option.key = std::move(key);
  option.metavar = "LIST";
  option.help = std::move(help);
  option.bounds = std::move(bounds);
  option.parse = [&target, parse_part](const std::string& text) -> Status {
    std::vector<Value> values;
    for (const std::string& part : text.empty() ? std::vector<std::string>() : split_list(text)) {
      RUDDER_ASSIGN(Value value, parse_part(part));
      values.push_back(std::move(value));
    }
    target = std::move(values);
    return {};
  };
  option.show = [&target] { return fmt::format("{}", fmt::join(target, ",")); };
  return option;
}

Result<double> parse_real(const std::string& text, double low, double high) {
  const auto value = parse_double(text);
  if (!value || !(*value >= low && *value <= high)) {
    return Error{Errc::kInvalidArgument, fmt::format("'{}' is not a number in {}..{}", text, low, high)};
  }
  return *value;
}

Result<int> parse_depth(const std::string& text) {
  const auto value = parse_int(text);
  if (!value || *value < 1 || *value > 1024) {
    return Error{Errc::kInvalidArgument, fmt::format("'{}' is not a whole number in 1..1024", text)};
  }
  return static_cast<int>(*value);
}

void add_knob_options(OptionTable& table, train::SteeringOptions& options) {
  table.custom(
      list_option("knob-policies", "Actions knobs: policies, the first being --policy; default: that one", "",
                  options.policies, [](const std::string& text) -> Result<std::string> { return text; }));
  table.custom(list_option("knob-depths",
                           "Actions knobs: batches fetched ahead; default: --depth, 1, and twice --depth",
                           "1..1024", options.depths, parse_depth));
  table.custom(list_option("knob-rates",
                           "Actions knobs: megabytes a second of rows fetched ahead of need, 0 for no limit; "
                           "default: no limit",
                           "0..1e6", options.megabytes_per_second,
                           [](const std::string& text) { return parse_real(text, 0, 1e6); }));
  table.custom(list_option("knob-slots",
                           "Actions knobs: shares of the buffer that are slots, the rest bounds what waits "
                           "beside them; default: all of it",
                           "0.01..1", options.slot_shares,
                           [](const std::string& text) { return parse_real(text, 0.01, 1); }));
}

std::string deciders() {
  std::vector<std::string> names;
  for (const steer::DeciderInfo& info : steer::decider_table()) {
    names.push_back(info.argument.empty() ? std::string(info.name)
                                          : fmt::format("{}:{}", info.name, info.argument));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void add_steering_options(OptionTable& table, train::SteeringOptions& options) {
  table.text("agent", "DECIDER", options.agent,
             "Steers each rank's buffer while it trains: " + deciders() + "; default: nobody does");
  table.choice("actions", options.actions, {"replace", "knobs"},
               "What the agent chooses among: replace rows or not (policy score), or settings of knobs");
  table.integer<std::uint32_t>("steer-window", options.window, 1, steer::kMostWindow,
                               "Batches between two decisions");
  table.choice("steer-mode", options.mode, {"async", "sync"},
               "async: decisions apply when they come; sync: the buffer waits for them");
  table.choice("steer-priority", options.priority, {"idle", "usual"},
               "Mode async: steer on what all others leave idle, or beside them");
  table.integer<std::uint32_t>("steer-horizon", options.horizon, 1, 64,
                               "Windows that counterfactual replay charges an action for");
  table.choice(
      "steer-trigger", options.trigger, {"windows", "time", "shift"},
      "The agent is asked at the end of every --steer-every windows, or after --steer-period, or when "
      "hit rate, stall or access mix have shifted (Page-Hinkley)");
  table.integer<std::uint32_t>("steer-every", options.every, 1, 1U << 20,
                               "Trigger windows: that many a question");
  table.real("steer-period", options.period_seconds, 0.001, 86400,
             "Trigger time: seconds between two questions");
  add_agent_options(table, options.model, "Decider llm: ");
  table.real("agent-rest", options.rest_seconds, 0.01, 3600,
             "Seconds that an agent rests which failed three times in a row, or whose decisions did harm");
  table.choice("prompt-language", options.language, {"en", "zh"}, "Decider llm: language of its prompts");
  table.integer<std::uint32_t>(
      "prompt-demonstrations", options.demonstrations, 0, 32,
      "Decider llm: labelled windows like the last one that it is shown; each costs a "
      "small model a tenth of its time");
  table.path("memory", options.memory,
             "Labelled windows of this and other runs, to learn from; default: of this run alone");
  table.path("classifier", options.classifier, "Deciders lr, svm, mlp, rf, xgb: the trained classifier");
  add_knob_options(table, options);
}

}  // namespace rudder::cli

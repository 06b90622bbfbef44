// SPDX-License-Identifier: Apache-2.0
#include "cli/experience_input.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "rudder/cache/trace.h"
#include "rudder/core/text.h"
#include "rudder/report/progress.h"
#include "rudder/sim/scenario.h"
#include "rudder/sim/trace_scenario.h"

namespace rudder::cli {
namespace {

constexpr std::uint64_t kAnySeed = 1;  // action sets do not depend on it

void append(std::vector<steer::Experience>& all, std::vector<steer::Experience> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<std::string> list_or_none(const std::string& text) {
  return text.empty() ? std::vector<std::string>() : split_list(text);
}

}  // namespace

Result<steer::ActionSet> action_set_of(const std::string& name) {
  if (name == "replace") {
    return steer::replace_actions();
  }
  RUDDER_ASSIGN(const sim::ScenarioInfo* const info, sim::find_scenario(name));
  RUDDER_ASSIGN(sim::Scenario scenario, info->make(kAnySeed));
  return std::move(scenario.actions);
}

std::vector<std::string> LabelledWindows::graphs() const {
  std::vector<std::string> names;
  for (const steer::Experience& each : windows) {
    if (std::find(names.begin(), names.end(), each.graph) == names.end()) {
      names.push_back(each.graph);
    }
  }
  return names;
}

void ExperienceInput::add_to(OptionTable& table) {
  table.text("memory", "FILES", memories_, "Stores of windows that runs have labelled, separated by commas");
  table.text("scenario", "NAMES", scenarios_,
             "Scenarios to simulate, of one action set; each stands for a graph, its seeds for runs");
  table.text("trace", "FILES", traces_,
             "Traces (rudder trace record) to replay with --buffer, --window and the rest");
  table.text("actions", "NAME", actions_,
             "replace, or a scenario for its action set; default: that of --scenario, else replace");
  table.text("collect", "LIST", deciders_,
             "Deciders under which scenarios and traces are run, unguarded, so that many states are seen");
  table.integer<std::size_t>("seeds", collect_.seeds, 1, 1000, "Runs of each scenario");
  table.integer<std::uint64_t>("seed", collect_.first_seed, 0, std::uint64_t{1} << 62,
                               "The first run's seed, and that of everything random");
  table.integer<std::size_t>("horizon", collect_.horizon, 1, 64,
                             "Windows that counterfactual replay charges an action for");
  table.integer<std::size_t>("threads", collect_.threads, 1, 1024, "Simulations at a time");
  world_.add_to(table);
}

Result<std::vector<steer::Experience>> ExperienceInput::from_memories(const steer::ActionSet& actions) const {
  std::vector<steer::Experience> all;
  for (const std::string& name : list_or_none(memories_)) {
    std::error_code error;
    if (!std::filesystem::exists(name, error)) {
      return Error{Errc::kNotFound, fmt::format("--memory: there is no file {}", printable(name))};
    }
    RUDDER_ASSIGN(const std::unique_ptr<steer::Memory> memory, steer::Memory::open(name));
    RUDDER_ASSIGN(std::vector<steer::Experience> found, memory->all(actions));
    if (found.empty()) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: it has no window of action set {}", printable(name), actions.key())};
    }
    append(all, std::move(found));
  }
  return all;
}

Result<std::vector<steer::Experience>> ExperienceInput::from_traces(const std::string& command) const {
  std::vector<steer::Experience> all;
  report::Progress progress(command);
  const std::vector<std::string> names = list_or_none(traces_);
  RUDDER_ASSIGN(const sim::TraceWorld world, world_.world());
  RUDDER_ASSIGN(const std::vector<cache::BufferSize> buffers, world_.buffers());
  for (std::size_t i = 0; i < names.size(); ++i) {
    progress.update(static_cast<double>(i) / static_cast<double>(names.size()), names[i]);
    RUDDER_ASSIGN(const cache::Trace trace, cache::read_trace(names[i]));
    const std::string graph = fmt::format("partition-{}", trace.header.partition_digest.substr(0, 12));
    const sim::Provenance from = {fmt::format("{}-{}", graph, trace.header.seed), graph};
    for (const cache::BufferSize& buffer : buffers) {
      for (Rank rank = 0; rank < trace.header.ranks(); ++rank) {
        const auto scenario = sim::scenario_of(trace, rank, buffer, world);
        if (!scenario) {
          return scenario.error().in(printable(names[i]));
        }
        RUDDER_ASSIGN(std::vector<steer::Experience> found,
                      sim::collect(*scenario, from, split_list(deciders_),
                                   {.controller = {}, .horizon = collect_.horizon}));
        append(all, std::move(found));
      }
    }
  }
  return all;
}

Result<LabelledWindows> ExperienceInput::load(const std::string& command) const {
  if (memories_.empty() && scenarios_.empty() && traces_.empty()) {
    return Error{Errc::kInvalidArgument,
                 "no windows to learn from: give --memory FILES, --scenario NAMES or --trace FILES"};
  }
  sim::CollectOptions collect = collect_;
  collect.scenarios = list_or_none(scenarios_);
  collect.deciders = split_list(deciders_);
  const std::string usual = collect.scenarios.empty() ? "replace" : collect.scenarios.front();
  LabelledWindows loaded;
  RUDDER_ASSIGN(loaded.actions, action_set_of(actions_.empty() ? usual : actions_));
  RUDDER_ASSIGN(loaded.windows, from_memories(loaded.actions));
  if (!collect.scenarios.empty()) {
    report::Progress progress(command);
    RUDDER_ASSIGN(std::vector<steer::Experience> found,
                  sim::collect_from_scenarios(
                      collect, [&](double share) { progress.update(share, "simulating scenarios"); }));
    append(loaded.windows, std::move(found));
  }
  if (!traces_.empty()) {
    RUDDER_ASSIGN(std::vector<steer::Experience> found, from_traces(command));
    append(loaded.windows, std::move(found));
  }
  for (const steer::Experience& each : loaded.windows) {
    if (each.action_set != loaded.actions.key()) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("run {} has the action set {}, not {}: what is learned of one says nothing of "
                               "the other",
                               printable(each.run), printable(each.action_set), loaded.actions.key())};
    }
  }
  return loaded;
}

}  // namespace rudder::cli

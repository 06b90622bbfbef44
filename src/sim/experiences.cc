// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/experiences.h"

#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "rudder/steer/decider.h"

#include "sim/tasks.h"

namespace rudder::sim {
namespace {

Status same_actions(const std::vector<const ScenarioInfo*>& scenarios, std::uint64_t seed) {
  std::string first;
  for (const ScenarioInfo* const info : scenarios) {
    RUDDER_ASSIGN(const Scenario scenario, info->make(seed));
    const std::string key = scenario.actions.key();
    if (!first.empty() && key != first) {
      return Error{
          Errc::kInvalidArgument,
          fmt::format("scenarios {} and {} have different action sets ({} and {}): what is learned of "
                      "one says nothing of the other",
                      scenarios.front()->name, info->name, first, key)};
    }
    first = key;
  }
  return {};
}

}  // namespace

Result<std::vector<steer::Experience>> collect(const Scenario& scenario, const Provenance& provenance,
                                               const std::vector<std::string>& deciders,
                                               const SteerOptions& options) {
  RUDDER_ASSIGN(const std::unique_ptr<steer::Memory> memory, steer::Memory::open({}));
  for (const std::string& name : deciders) {
    steer::DeciderContext context;
    context.actions = &scenario.actions;
    context.seed = scenario.seed;
    RUDDER_ASSIGN(const std::unique_ptr<steer::Decider> decider, steer::make_decider(name, context));
    SteerOptions steered = without_guard(options);
    steered.controller.run = provenance.run;
    steered.controller.graph = provenance.graph;
    RUDDER_ASSIGN(const SteeredRun run, run_steered(scenario, *decider, memory.get(), steered));
    if (run.totals.memory_errors > 0) {
      return Error{Errc::kInternal, run.totals.memory_error};
    }
  }
  return memory->all(scenario.actions);
}

Result<std::vector<steer::Experience>> collect_from_scenarios(const CollectOptions& options,
                                                              const std::function<void(double)>& done) {
  std::vector<const ScenarioInfo*> scenarios;
  for (const std::string& name : options.scenarios) {
    RUDDER_ASSIGN(const ScenarioInfo* const info, find_scenario(name));
    scenarios.push_back(info);
  }
  RUDDER_TRY(same_actions(scenarios, options.first_seed));
  std::vector<std::vector<steer::Experience>> parts(scenarios.size() * options.seeds);
  std::mutex mutex;  // of finished and done
  std::size_t finished = 0;
  const auto task = [&](std::size_t i) -> Status {
    const ScenarioInfo& info = *scenarios[i / options.seeds];
    const std::uint64_t seed = options.first_seed + i % options.seeds;
    RUDDER_ASSIGN(const Scenario scenario, info.make(seed));
    const Provenance provenance = {fmt::format("{}-{}", info.name, seed), std::string(info.name)};
    RUDDER_ASSIGN(parts[i], collect(scenario, provenance, options.deciders,
                                    {.controller = {}, .horizon = options.horizon}));
    if (done) {
      const std::scoped_lock lock(mutex);
      done(static_cast<double>(++finished) / static_cast<double>(parts.size()));
    }
    return {};
  };
  RUDDER_TRY(run_tasks(parts.size(), options.threads, "rudder-collect", task));
  std::vector<steer::Experience> all;
  for (std::vector<steer::Experience>& part : parts) {
    all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  }
  return all;
}

}  // namespace rudder::sim

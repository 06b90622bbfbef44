// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/sim/steer_eval.h"

namespace rudder::sim {
namespace {

/// Serves window `number` and adds what it cost.
void serve_window(const Scenario& scenario, std::size_t number, steer::SteeredBuffer& buffer,
                  SteeredRun& run) {
  double seconds = 0;
  const std::size_t first = number * scenario.window;
  for (std::size_t step = first; step < first + scenario.window; ++step) {
    const std::size_t known = scenario.schedule_known ? scenario.batches.size() - step : 1;
    const steer::SteeredBuffer::Served served =
        buffer.serve(std::span(scenario.batches).subspan(step, known), scenario.conditions[step]);
    seconds += served.cost.seconds;
    run.requests += served.counts.requests;
    run.hits += served.counts.hits;
    run.fetched += served.counts.fetched;
  }
  run.by_window.push_back(seconds);
  run.cost += seconds;
}

Status check_action(const Scenario& scenario, std::size_t action) {
  return action < scenario.actions.actions.size()
             ? Status()
             : Status(Error{Errc::kInvalidArgument,
                            fmt::format("scenario {} has no action {}", scenario.name, action)});
}

}  // namespace

Result<SteeredRun> run_plan(const Scenario& scenario, const std::vector<std::size_t>& actions) {
  if (actions.size() != scenario.windows()) {
    return Error{Errc::kInvalidArgument, fmt::format("scenario {}: actions for {} windows of {}",
                                                     scenario.name, actions.size(), scenario.windows())};
  }
  for (const std::size_t action : actions) {
    RUDDER_TRY(check_action(scenario, action));
  }
  RUDDER_ASSIGN(
      steer::SteeredBuffer buffer,
      steer::SteeredBuffer::create(scenario.shape(), scenario.actions.actions[actions.front()].setting));
  SteeredRun run;
  for (std::size_t window = 0; window < actions.size(); ++window) {
    buffer.apply(scenario.actions.actions[actions[window]].setting);
    serve_window(scenario, window, buffer, run);
  }
  run.actions = actions;
  return run;
}

Result<SteeredRun> run_fixed(const Scenario& scenario, std::size_t action) {
  return run_plan(scenario, std::vector<std::size_t>(scenario.windows(), action));
}

Result<SteeredRun> run_oracle(const Scenario& scenario) {
  SteeredRun run;
  std::optional<steer::SteeredBuffer> buffer;  // nothing before the first phase
  for (std::size_t phase = 0; phase < scenario.phases.size(); ++phase) {
    const std::size_t first = scenario.phases[phase].first / scenario.window;
    const std::size_t end = phase + 1 < scenario.phases.size()
                                ? scenario.phases[phase + 1].first / scenario.window
                                : scenario.windows();
    std::optional<std::pair<SteeredRun, steer::SteeredBuffer>> best;
    for (std::size_t action = 0; action < scenario.actions.actions.size(); ++action) {
      if (phase == 0) {
        RUDDER_ASSIGN(
            buffer, steer::SteeredBuffer::create(scenario.shape(), scenario.actions.actions[action].setting));
      }
      std::pair<SteeredRun, steer::SteeredBuffer> tried(run, *buffer);
      for (std::size_t window = first; window < end; ++window) {
        tried.second.apply(scenario.actions.actions[action].setting);
        serve_window(scenario, window, tried.second, tried.first);
        tried.first.actions.push_back(action);
      }
      if (!best || tried.first.cost < best->first.cost) {
        best.emplace(std::move(tried));
      }
    }
    RUDDER_CHECK(best.has_value(), "an action set without actions");
    run = std::move(best->first);
    buffer.emplace(std::move(best->second));
  }
  return run;
}

}  // namespace rudder::sim

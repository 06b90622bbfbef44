// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
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

std::size_t owner_of(const Scenario& scenario, NodeId row) {
  const auto above = std::upper_bound(scenario.owners.begin(), scenario.owners.end(), row);
  return static_cast<std::size_t>(above - scenario.owners.begin()) - 1;
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

SteeredRun run_without_buffer(const Scenario& scenario) {
  SteeredRun run;
  const steer::Setting setting;
  for (std::size_t step = 0; step < scenario.windows() * scenario.window; ++step) {
    steer::Moved moved;
    moved.rows.assign(scenario.owners.size() - 1, 0);
    for (const NodeId row : scenario.batches[step]) {
      ++moved.rows[owner_of(scenario, row)];
    }
    if (step % scenario.window == 0) {
      run.by_window.push_back(0);
    }
    // What only fetches and then what only computes, each on a clock of its own: nothing overlaps.
    steer::Conditions fetching = scenario.conditions[step];
    fetching.compute_seconds = fetching.gradient_bytes = 0;
    run.by_window.back() += steer::StepClock().step(fetching, moved, setting).seconds;
    run.by_window.back() += steer::StepClock().step(scenario.conditions[step], {}, setting).seconds;
    run.requests += moved.total();
    run.fetched += moved.total();
  }
  run.cost = std::accumulate(run.by_window.begin(), run.by_window.end(), 0.0);
  return run;
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

Result<SteeredRun> run_foresight(const Scenario& scenario, std::size_t horizon) {
  const std::vector<steer::Action>& actions = scenario.actions.actions;
  const steer::Setting& fallback = actions[scenario.actions.fallback].setting;
  RUDDER_ASSIGN(steer::SteeredBuffer buffer, steer::SteeredBuffer::create(scenario.shape(), fallback));
  SteeredRun run;
  for (std::size_t window = 0; window < scenario.windows(); ++window) {
    const std::size_t end = std::min(scenario.windows(), window + std::max<std::size_t>(1, horizon));
    std::size_t best = scenario.actions.fallback;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const std::size_t action = (scenario.actions.fallback + i) % actions.size();  // it wins among equals
      steer::SteeredBuffer tried = buffer;
      SteeredRun cost;
      tried.apply(actions[action].setting);
      serve_window(scenario, window, tried, cost);
      for (std::size_t later = window + 1; later < end; ++later) {
        tried.apply(fallback);
        serve_window(scenario, later, tried, cost);
      }
      if (cost.cost < least) {
        least = cost.cost;
        best = action;
      }
    }
    buffer.apply(actions[best].setting);
    serve_window(scenario, window, buffer, run);
    run.actions.push_back(best);
  }
  return run;
}

}  // namespace rudder::sim

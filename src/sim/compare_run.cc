// SPDX-License-Identifier: Apache-2.0
#include "sim/compare_run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::sim {
namespace {

constexpr std::string_view kNone = "none", kOracle = "oracle", kFixed = "fixed:";
/// Windows of other graphs that a decider starts with; more of them are thinned out evenly.
constexpr std::size_t kRemembered = 2000;
constexpr std::int64_t kMostPeriod = 1'000'000;

/// Replaces with every P-th batch, as the score policy with that period does.
Result<SteeredRun> run_period(Scenario& scenario, std::uint32_t period) {
  const std::size_t skip = scenario.actions.find("skip");
  const std::size_t replace = scenario.actions.find("replace");
  const std::uint32_t window = std::exchange(scenario.window, 1);
  std::vector<std::size_t> plan(scenario.windows(), skip);
  for (std::size_t step = period - 1; step < plan.size(); step += period) {
    plan[step] = replace;
  }
  Result<SteeredRun> run = run_plan(scenario, plan);
  scenario.window = window;
  return run;
}

/// The cheapest of what is known of the accesses: no bound, but nothing fixed beside it costs less.
Result<SteeredRun> run_best_known(Scenario& scenario, const CompareOptions& options) {
  RUDDER_ASSIGN(SteeredRun best, run_foresight(scenario, options.steer.horizon));
  const auto consider = [&](SteeredRun run) {
    if (run.cost < best.cost) {
      best = std::move(run);
    }
  };
  for (std::size_t action = 0; action < scenario.actions.actions.size(); ++action) {
    RUDDER_ASSIGN(SteeredRun fixed, run_fixed(scenario, action));
    consider(std::move(fixed));
  }
  for (const std::string& spec : options.methods) {
    RUDDER_ASSIGN(const Method method, parse_method(spec));
    if (method.period > 0) {
      RUDDER_ASSIGN(SteeredRun fixed, run_period(scenario, method.period));
      consider(std::move(fixed));
    }
  }
  return best;
}

Result<std::unique_ptr<steer::Memory>> memory_of(const std::vector<steer::Experience>& windows) {
  RUDDER_ASSIGN(std::unique_ptr<steer::Memory> memory, steer::Memory::open({}));
  const std::size_t count = std::min(windows.size(), kRemembered);
  for (std::size_t i = 0; i < count; ++i) {
    RUDDER_TRY(memory->add(windows[i * windows.size() / count]));
  }
  return memory;
}

Result<SteeredRun> run_decider(const Scenario& scenario, const Method& method, const Foreign& foreign,
                               const CompareOptions& options) {
  std::unique_ptr<steer::Memory> memory;
  if (method.remembers()) {
    RUDDER_ASSIGN(memory, memory_of(foreign.windows));
  }
  steer::DeciderContext context = options.context;
  context.actions = &scenario.actions;
  context.seed = scenario.seed;
  context.memory = memory.get();
  if (method.decider->needs_classifier) {
    context.classifier = foreign.classifiers.at(std::string(method.decider->name));
  }
  RUDDER_ASSIGN(const std::unique_ptr<steer::Decider> decider, steer::make_decider(method.spec, context));
  SteerOptions steered = options.steer;
  steered.controller.run = fmt::format("{}-{}", scenario.graph, scenario.seed);
  steered.controller.graph = scenario.graph;
  return run_steered(scenario, *decider, memory.get(), steered);
}

}  // namespace

bool Method::remembers() const {
  return decider != nullptr && (decider->needs_model || decider->name == "nearest");
}
bool Method::learns() const {
  return remembers() || (decider != nullptr && decider->needs_classifier);
}

Result<Method> parse_method(const std::string& spec) {
  Method method;
  method.spec = spec;
  if (spec == kNone || spec == kOracle) {
    return method;
  }
  if (spec.starts_with(kFixed)) {
    const auto period = parse_int(std::string_view(spec).substr(kFixed.size()));
    if (!period || *period < 1 || *period > kMostPeriod) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("method '{}': the period is not a number of batches in 1..{}", printable(spec),
                               kMostPeriod)};
    }
    method.period = static_cast<std::uint32_t>(*period);
    return method;
  }
  std::vector<std::string_view> names = {kNone, kOracle, kFixed};
  const std::string name = spec.substr(0, spec.find(':'));
  for (const steer::DeciderInfo& info : steer::decider_table()) {
    if (info.name == name) {
      method.decider = &info;
      return method;
    }
    names.push_back(info.name);
  }
  const std::string near = nearest_name(name, names);
  return Error{Errc::kInvalidArgument,
               fmt::format("unknown method '{}'{}", printable(spec),
                           near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))};
}

Result<SteeredRun> run_method(Scenario& scenario, const Method& method, const Foreign& foreign,
                              const CompareOptions& options) {
  if (method.decider != nullptr) {
    return run_decider(scenario, method, foreign, options);
  }
  if (method.period > 0) {
    return run_period(scenario, method.period);
  }
  return method.spec == kNone ? run_without_buffer(scenario) : run_best_known(scenario, options);
}

}  // namespace rudder::sim

// SPDX-License-Identifier: Apache-2.0
// What steering costs the threads of a training.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "rudder/cache/planner.h"
#include "rudder/cache/steered.h"
#include "rudder/core/rng.h"
#include "rudder/steer/pilot.h"

namespace rudder::steer {
namespace {

constexpr NodeId kNodes = 400'000;

Result<std::unique_ptr<Pilot>> make_pilot(StepId steps) {
  PilotOptions options;
  options.steps = steps;
  options.owners = {0, 1, kNodes / 2, kNodes};
  PilotCrew crew;
  crew.actions = std::make_unique<const ActionSet>(replace_actions());
  RUDDER_ASSIGN(crew.decider, make_decider("fixed:4", {.actions = crew.actions.get()}));
  return Pilot::create(std::move(options), std::move(crew));
}

/// Asks one pilot, or nobody.
class Passing final : public cache::Helm {
 public:
  explicit Passing(Pilot* pilot) : pilot_(pilot) {}
  [[nodiscard]] std::optional<cache::Steer> before(StepId step) override {
    return pilot_ == nullptr ? std::nullopt : pilot_->before(step);
  }

 private:
  Pilot* pilot_;
};

/// The trainer's thread, a batch.
void BM_Trained(benchmark::State& state) {
  auto pilot = make_pilot(0);
  if (!pilot.ok()) {
    state.SkipWithError(pilot.error().message.c_str());
    return;
  }
  TrainedBatch batch;
  for (auto _ : state) {
    (*pilot)->trained(batch);
  }
}
BENCHMARK(BM_Trained)->Unit(benchmark::kMicrosecond);

/// The planner's thread, a batch; argument: remote rows, steered or not. Trained on at once.
void BM_Plan(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t kBatches = 32;
  std::vector<std::vector<NodeId>> batches;
  CounterRng rng({1});
  for (std::size_t i = 0; i < kBatches; ++i) {
    std::set<NodeId> batch;
    while (batch.size() < rows) {
      const double unit = rng.unit();
      batch.insert(1 + static_cast<NodeId>(unit * unit * unit * (kNodes - 1)));
    }
    batches.emplace_back(batch.begin(), batch.end());
  }
  auto pilot = make_pilot(0);
  if (!pilot.ok()) {
    state.SkipWithError(pilot.error().message.c_str());
    return;
  }
  Pilot* const steering = state.range(1) != 0 ? pilot->get() : nullptr;
  const auto context = std::make_shared<cache::PolicyContext>();
  context->capacity = static_cast<SlotId>(2 * rows);
  context->owned_end = 1;
  cache::PolicySettings settings;
  settings.score_init = "empty";
  Passing helm(steering);
  const cache::SteerTerms terms = (*pilot)->terms(context->capacity, settings);
  cache::Planner planner(cache::make_steered(*context, terms.settings, terms.first, &helm), context->capacity,
                         5);
  if (steering != nullptr && !steering->begin(planner, context).ok()) {
    state.SkipWithError("the pilot does not begin");
    return;
  }
  TrainedBatch batch;
  StepId step = 0;
  for (auto _ : state) {
    const std::vector<NodeId>& asked = batches[step % kBatches];
    if (steering != nullptr) {
      steering->pushed(step, asked);
    }
    planner.push(asked);
    const cache::Plan plan = planner.next();
    if (steering != nullptr) {
      steering->planned(plan, planner);
      state.PauseTiming();
      steering->trained(batch);
      state.ResumeTiming();
    }
    ++step;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
}
BENCHMARK(BM_Plan)
    ->ArgNames({"rows", "steered"})
    ->Args({20'000, 0})
    ->Args({20'000, 1})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rudder::steer

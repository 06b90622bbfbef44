// SPDX-License-Identifier: Apache-2.0
// The loop around a decider in simulated time: windows are served, labelled, decided on.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "rudder/sim/steer_eval.h"

namespace rudder::sim {
namespace {

using steer::Conditions;
using steer::SteeredBuffer;
using steer::Window;

TimePoint simulated(double seconds) {
  return TimePoint{} + from_seconds(seconds);
}

/// What an owner's answers took: the round trip and its share of the batch's rows.
void note_owners(const Conditions& conditions, const steer::Moved& moved, Window& window) {
  window.owners = static_cast<std::uint32_t>(std::min(moved.rows.size(), steer::kMaxOwners));
  for (std::size_t owner = 0; owner < moved.rows.size(); ++owner) {
    if (moved.rows[owner] == 0) {
      continue;
    }
    steer::OwnerLoad& load = window.owner[std::min(owner, steer::kMaxOwners - 1)];
    const double rate =
        owner < conditions.owner_bytes_per_second.size()
            ? std::min(conditions.owner_bytes_per_second[owner], conditions.link_bytes_per_second)
            : conditions.link_bytes_per_second;
    load.rows += moved.rows[owner];
    load.seconds +=
        conditions.round_trip_seconds + static_cast<double>(moved.rows[owner]) * conditions.row_bytes / rate;
    ++load.answers;
  }
}

/// Serves windows of a scenario and observes them.
class Observed {
 public:
  Observed(const Scenario& scenario, SteeredBuffer& buffer) : scenario_(scenario), buffer_(buffer) {}

  Window serve(std::size_t number, std::size_t action, SteeredRun& run) {
    Window window;
    window.sequence = number;
    window.action = action;
    window.first = number * scenario_.window;
    window.end = window.first + scenario_.window;
    window.steps_total = scenario_.batches.size();
    window.training = scenario_.training[window.first] != 0;
    double moving = 0;
    for (StepId step = window.first; step < window.end; ++step) {
      moving += serve_batch(step, window);
    }
    window.slots = buffer_.residency().capacity();
    window.resident = buffer_.residency().size();
    window.link_bytes_per_second = moving > 0 ? static_cast<double>(window.wire_bytes) / moving : 0;
    window.busy = window.seconds > 0 ? window.compute_seconds / window.seconds : 0;
    window.known_ahead = scenario_.schedule_known ? scenario_.batches.size() - window.end : 0;
    window.stale = stale_rows();
    std::swap(before_, now_);
    now_.clear();
    run.by_window.push_back(window.seconds);
    run.actions.push_back(action);
    run.cost += window.seconds;
    run.requests += window.counts.requests;
    run.hits += window.counts.hits;
    run.fetched += window.counts.fetched;
    return window;
  }

 private:
  /// Returns the seconds that its rows moved.
  double serve_batch(StepId step, Window& window) {
    const std::size_t known = scenario_.schedule_known ? scenario_.batches.size() - step : 1;
    const Conditions& conditions = scenario_.conditions[step];
    for (const NodeId row : scenario_.batches[step]) {
      window.fresh += before_.count(row) == 0 ? 1U : 0U;
      now_.insert(row);
    }
    const SteeredBuffer::Served served =
        buffer_.serve(std::span(scenario_.batches).subspan(step, known), conditions);
    window.counts += served.counts;
    window.seconds += served.cost.seconds;
    window.compute_seconds += served.cost.compute_seconds;
    window.all_reduce_seconds += served.cost.all_reduce_seconds;
    window.stall_seconds += served.cost.stall_seconds;
    window.wire_bytes +=
        static_cast<std::uint64_t>(static_cast<double>(served.moved.total()) * conditions.row_bytes);
    note_owners(conditions, served.moved, window);
    return served.cost.fetch_seconds;
  }

  [[nodiscard]] std::uint64_t stale_rows() const {
    std::uint64_t stale = 0;
    const cache::Residency& rows = buffer_.residency();
    for (SlotId slot = 0; slot < rows.capacity(); ++slot) {
      stale += rows.row_at(slot) != kNoNode && now_.count(rows.row_at(slot)) == 0 ? 1U : 0U;
    }
    return stale;
  }

  const Scenario& scenario_;
  SteeredBuffer& buffer_;
  std::unordered_set<NodeId> before_, now_;  ///< asked for by the window before and by this one
};

steer::Accesses accesses_of(const Scenario& scenario, const Window& window) {
  const auto first = static_cast<std::ptrdiff_t>(window.first);
  const auto end = static_cast<std::ptrdiff_t>(window.end);
  steer::Accesses accesses;
  accesses.batches.assign(scenario.batches.begin() + first, scenario.batches.begin() + end);
  accesses.conditions.assign(scenario.conditions.begin() + first, scenario.conditions.begin() + end);
  if (scenario.schedule_known) {
    accesses.ahead.assign(scenario.batches.begin() + end, scenario.batches.end());
  }
  return accesses;
}

/// A question that is with the decider.
struct Pending {
  Result<steer::Decision> decision;
  double arrives = 0;  ///< simulated seconds
};

}  // namespace

Result<SteeredRun> run_steered(const Scenario& scenario, steer::Decider& decider, steer::Memory* memory,
                               const SteerOptions& options) {
  const steer::ActionSet& actions = scenario.actions;
  RUDDER_ASSIGN(SteeredBuffer buffer,
                SteeredBuffer::create(scenario.shape(), actions.actions[actions.fallback].setting));
  steer::Counterfactual counterfactual(actions, buffer, options.horizon);
  steer::Controller controller(actions, memory, options.controller);
  Observed observed(scenario, buffer);
  SteeredRun run;
  std::size_t action = actions.fallback;
  std::optional<Pending> pending;
  for (std::size_t number = 0; number < scenario.windows(); ++number) {
    buffer.apply(actions.actions[action].setting);
    const Window window = observed.serve(number, action, run);
    run.labels.push_back(steer::labelled(
        window, counterfactual.window_ended(accesses_of(scenario, window), action).costs, actions.fallback));
    decider.learn(run.labels.back());
    if (pending && pending->arrives <= run.cost) {
      controller.answered(pending->decision, simulated(run.cost));
      pending.reset();
    }
    if (controller.window_ended(run.labels.back(), simulated(run.cost)) && !pending) {
      const TimePoint asked = steady_clock().now();
      Result<steer::Decision> decision = decider.decide(controller.question(), controller.report());
      const double latency = to_seconds(steady_clock().now() - asked);
      pending.emplace(Pending{std::move(decision), run.cost + latency});
      if (options.synchronous) {
        run.cost += latency;
        run.by_window.back() += latency;
      }
      // What comes before the next batch's border counts as there.
      if (options.synchronous || latency <= window.seconds / static_cast<double>(scenario.window)) {
        controller.answered(pending->decision, simulated(run.cost));
        pending.reset();
      }
    }
    run.records.push_back(controller.settle(simulated(run.cost)));
    action = run.records.back().applied;
  }
  run.totals = controller.totals();
  return run;
}

}  // namespace rudder::sim

// SPDX-License-Identifier: Apache-2.0
#include "train/steering.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/log.h"
#include "rudder/llm/endpoint.h"
#include "rudder/metrics/quantile.h"
#include "rudder/steer/decider.h"
#include "rudder/train/trainer.h"

namespace rudder::train {
namespace {

constexpr Duration kGrace = std::chrono::seconds(5);  // beyond a decision's time, for all that is around it
constexpr Duration kLastLook = std::chrono::seconds(3);
constexpr double kMegabyte = 1e6;

template <class Value>
std::vector<Value> or_else(std::vector<Value> given, std::vector<Value> otherwise) {
  return given.empty() ? std::move(otherwise) : std::move(given);
}

/// The knobs' values. Of equal ones the first stays.
steer::KnobBounds bounds_of(const TrainOptions& options) {
  const SteeringOptions& steering = options.steering;
  steer::KnobBounds bounds;
  bounds.policies = or_else(steering.policies, {options.policy});
  for (const int depth : steering.depths) {
    bounds.depths.push_back(depth < 0 ? 0 : static_cast<std::uint32_t>(depth));
  }
  const std::uint32_t own = std::max(1U, options.depth);
  bounds.depths = or_else(std::move(bounds.depths), {own, 1, 2 * own});
  for (const double rate : or_else(steering.megabytes_per_second, {0})) {
    bounds.prefetch_bytes_per_second.push_back(rate * kMegabyte);
  }
  bounds.slot_shares = or_else(steering.slot_shares, {1});
  std::vector<std::uint32_t> depths;
  for (const std::uint32_t depth : bounds.depths) {
    if (std::find(depths.begin(), depths.end(), depth) == depths.end()) {
      depths.push_back(depth);
    }
  }
  bounds.depths = std::move(depths);
  return bounds;
}

Status check_policy(const TrainOptions& options, const steer::ActionSet& actions) {
  const std::string& first = actions.actions[actions.fallback].setting.policy;
  if (first != options.policy) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("actions {} begin with policy '{}', but the run's is '{}'", actions.name, first,
                             options.policy)};
  }
  return {};
}

Result<steer::ActionSet> actions_of(const TrainOptions& options) {
  steer::ActionSet actions;
  if (options.steering.actions == "replace") {
    actions = steer::replace_actions();
  } else if (options.steering.actions == "knobs") {
    RUDDER_ASSIGN(actions, steer::knob_actions(bounds_of(options)));
  } else {
    return Error{Errc::kInvalidArgument,
                 fmt::format("'{}' is not one of replace, knobs", options.steering.actions)};
  }
  for (steer::Action& action : actions.actions) {
    if (actions.name == "replace") {
      action.setting.depth = options.depth;
    } else {
      action.setting.lookahead = options.settings.max_lookahead;
    }
  }
  RUDDER_TRY(check_policy(options, actions));
  return actions;
}

Result<std::unique_ptr<llm::Model>> model_of(const SteeringOptions& options) {
  RUDDER_ASSIGN(std::unique_ptr<llm::Model> model, llm::open_model(options.model));
  if (model == nullptr) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("decider '{}' needs the socket of an agent or the address of a server", options.agent)};
  }
  return model;
}

bool asks_a_model(const std::string& spec) {
  const auto info = steer::find_decider(spec.substr(0, spec.find(':')));
  return info.ok() && (*info)->needs_model;
}

Result<steer::PilotCrew> crew_of(const TrainOptions& options, Rank rank) {
  const SteeringOptions& steering = options.steering;
  steer::PilotCrew crew;
  RUDDER_ASSIGN(steer::ActionSet actions, actions_of(options));
  crew.actions = std::make_unique<const steer::ActionSet>(std::move(actions));
  RUDDER_ASSIGN(crew.memory, steer::Memory::open(steering.memory));
  if (asks_a_model(steering.agent)) {
    RUDDER_ASSIGN(crew.model, model_of(steering));
  }
  steer::DeciderContext context;
  context.actions = crew.actions.get();
  context.seed = options.seed + rank;
  context.memory = crew.memory.get();
  context.model = crew.model.get();
  context.job = fmt::format("train-{}-rank{}", options.partition.filename().string(), rank);
  context.language = steering.language;
  context.demonstrations = steering.demonstrations;
  context.model_timeout = from_seconds(steering.model.timeout_seconds);
  context.classifier = steering.classifier;
  RUDDER_ASSIGN(crew.decider, steer::make_decider(steering.agent, context));
  return crew;
}

std::vector<NodeId> offsets_of(const graph::PartitionBook& book) {
  std::vector<NodeId> offsets;
  for (PartId part = 0; part < book.parts(); ++part) {
    offsets.push_back(book.begin(part));
  }
  offsets.push_back(book.nodes());
  return offsets;
}

std::string name_of_log(Rank rank) {
  return rank == 0 ? "decisions.jsonl" : fmt::format("decisions-{}.jsonl", rank);
}

std::uint64_t microseconds(double seconds) {
  return static_cast<std::uint64_t>(seconds * 1e6 + 0.5);
}

}  // namespace

Status check_steering(const TrainOptions& options) {
  if (options.steering.agent.empty()) {
    return {};
  }
  const auto crew = crew_of(options, 0);
  return crew.ok() ? Status() : Status(crew.error());
}

Result<std::unique_ptr<Steering>> Steering::create(const TrainOptions& options, Rank rank,
                                                   const graph::PartitionedGraph& graph,
                                                   const dataplane::Plane& plane, std::uint64_t batches,
                                                   std::size_t gradient) {
  RUDDER_ASSIGN(steer::PilotCrew crew, crew_of(options, rank));
  const SteeringOptions& steering = options.steering;
  std::uint32_t depth = options.depth;
  for (const steer::Action& action : crew.actions->actions) {
    depth = std::max(depth, action.setting.depth);
  }
  const auto world = static_cast<double>(graph.book().parts());
  steer::PilotOptions pilot;
  pilot.window = steering.window;
  pilot.synchronous = steering.mode == "sync";
  pilot.horizon = steering.horizon;
  pilot.controller.trigger.by = steering.trigger;
  pilot.controller.trigger.every = steering.every;
  pilot.controller.trigger.period = from_seconds(steering.period_seconds);
  pilot.controller.breaker.rest = from_seconds(steering.rest_seconds);
  if (steering.agent.starts_with("replay:")) {
    // What a log says is done, whatever this run measures.
    pilot.controller.guard.tolerated_excess = -1;
  }
  pilot.idle_priority = steering.priority == "idle";
  pilot.controller.run = fmt::format("{}-{}-{}", options.partition.filename().string(), options.seed, rank);
  pilot.controller.graph = graph.graph_digest();
  pilot.steps = batches;
  pilot.owners = offsets_of(graph.book());
  pilot.self = rank;
  pilot.depth = depth;
  pilot.row_bytes = static_cast<double>(graph.row_bytes());
  // Of a ring, which sends each part of the sum twice but for its own (Patarasuk and Yuan 2009).
  pilot.gradient_bytes = 2 * (world - 1) / world * static_cast<double>(gradient * sizeof(float));
  pilot.patience = from_seconds(steering.model.timeout_seconds) + kGrace;
  if (!options.run_directory.empty()) {
    RUDDER_TRY(make_directories(options.run_directory));
    pilot.log = options.run_directory / name_of_log(rank);
    pilot.append_log = options.resume;
  }
  pilot.figures = options.figures;
  pilot.rank = std::to_string(rank);
  const std::size_t owners = std::min<std::size_t>(graph.book().parts(), steer::kMaxOwners);
  RUDDER_ASSIGN(auto made, steer::Pilot::create(std::move(pilot), std::move(crew)));
  return std::unique_ptr<Steering>(new Steering(steering, std::move(made), plane, depth, owners));
}

Steering::Steering(const SteeringOptions& options, std::unique_ptr<steer::Pilot> pilot,
                   const dataplane::Plane& plane, std::uint32_t depth, std::size_t owners)
    : options_(options), pilot_(std::move(pilot)), plane_(plane), depth_(depth), owners_(owners) {}

void Steering::take(dataplane::BufferOptions& buffer) {
  buffer.steersman = pilot_.get();
  buffer.depth = depth_;
}

void Steering::read_traffic() noexcept {
  batch_.traffic.moving_seconds = plane_.traffic(std::span(owner_).first(owners_));
  for (std::size_t i = 0; i < owners_; ++i) {
    const dataplane::OwnerTraffic& owner = owner_[i];
    batch_.traffic.owner[i] = {.rows = owner.rows,
                               .answers = owner.answers,
                               .seconds = owner.seconds,
                               .busy_seconds = owner.busy_seconds,
                               .least_seconds = owner.least_seconds};
  }
}

void Steering::trained(const metrics::StepTimes& times, std::uint64_t wire_bytes, bool averaged,
                       std::uint32_t ready) noexcept {
  read_traffic();
  batch_.times = times;
  batch_.averaged = averaged;
  batch_.ready = ready;
  batch_.wire_bytes = wire_bytes;
  pilot_->trained(batch_);
}

void Steering::rebase() noexcept {
  read_traffic();
  pilot_->rebase(batch_.traffic);
}

void Steering::finish() {
  pilot_->finish(kLastLook);
  const steer::ControllerTotals& totals = pilot_->totals().controller;
  if (totals.memory_errors > 0) {
    log_warning(fmt::format("steering: {} windows were not remembered: {}", totals.memory_errors,
                            totals.memory_error));
  }
}

Result<SteeringResult> Steering::sum(Collective& collective) const {
  const steer::PilotTotals& mine = pilot_->totals();
  const steer::ControllerTotals& decided = mine.controller;
  std::array sums = {mine.windows,
                     mine.dropped,
                     mine.replayed,
                     mine.mismatches,
                     mine.changes,
                     mine.overtaken,
                     mine.late,
                     decided.decisions,
                     decided.applied,
                     decided.dropped,
                     decided.model_calls,
                     decided.valid_replies,
                     decided.verdicts[static_cast<std::size_t>(steer::Verdict::kNoAnswer)],
                     decided.breaker_openings,
                     decided.predictions,
                     decided.right_directions,
                     decided.staleness_windows,
                     decided.memory_errors,
                     microseconds(mine.wait_seconds),
                     microseconds(mine.seconds),
                     microseconds(mine.replayed_seconds)};
  RUDDER_TRY(collective.sum(std::span<std::uint64_t>(sums)));
  const auto latency = [&](double share) {
    return decided.latencies.empty() ? 0 : microseconds(metrics::quantile(decided.latencies, share));
  };
  std::array most = {latency(0.5), latency(0.95)};
  RUDDER_TRY(collective.max(most));
  const auto seconds = [](std::uint64_t count) { return 1e-6 * static_cast<double>(count); };
  return SteeringResult{.agent = options_.agent,
                        .actions = options_.actions,
                        .mode = options_.mode,
                        .window = options_.window,
                        .windows = sums[0],
                        .dropped = sums[1],
                        .replayed = sums[2],
                        .mismatches = sums[3],
                        .changes = sums[4],
                        .overtaken = sums[5],
                        .late = sums[6],
                        .decisions = sums[7],
                        .applied = sums[8],
                        .rejected = sums[9],
                        .model_calls = sums[10],
                        .valid_replies = sums[11],
                        .no_answers = sums[12],
                        .breaker_openings = sums[13],
                        .predictions = sums[14],
                        .right_directions = sums[15],
                        .staleness_windows = sums[16],
                        .memory_errors = sums[17],
                        .latency_p50 = seconds(most[0]),
                        .latency_p95 = seconds(most[1]),
                        .wait_seconds = seconds(sums[18]),
                        .seconds = seconds(sums[19]),
                        .replayed_seconds = seconds(sums[20])};
}

}  // namespace rudder::train

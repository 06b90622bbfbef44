// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/trace_scenario.h"

#include <fmt/format.h>

namespace rudder::sim {
namespace {

constexpr double kIdBytes = 4;  // of a row on the wire, about: ids are sent as differences

Status check(const cache::Trace& trace, Rank rank, const cache::BufferSize& buffer, const TraceWorld& world) {
  const auto bad = [](const std::string& what) { return Error{Errc::kInvalidArgument, what}; };
  const cache::TraceHeader& header = trace.header;
  if (rank >= header.ranks()) {
    return bad(fmt::format("rank {} of a trace of {}", rank, header.ranks()));
  }
  if (world.window == 0 || header.steps() < world.window) {
    return bad(fmt::format("{} batches are fewer than the {} of a window", header.steps(), world.window));
  }
  if (header.indptr.size() != static_cast<std::size_t>(header.nodes) + 1) {
    return bad("a trace without degrees, by which the buffer is filled first");
  }
  if (buffer.slots(header.halo[rank].size()) == 0) {
    return bad(fmt::format("a buffer of {} of rank {}'s halo of {} rows has no slot", buffer.text, rank,
                           header.halo[rank].size()));
  }
  return {};
}

}  // namespace

Result<Scenario> scenario_of(const cache::Trace& trace, Rank rank, const cache::BufferSize& buffer,
                             const TraceWorld& world) {
  RUDDER_TRY(check(trace, rank, buffer, world));
  const cache::TraceHeader& header = trace.header;
  Scenario scenario;
  scenario.name = "trace";
  scenario.seed = header.seed;
  scenario.graph =
      fmt::format("rank {} of {} parts of a graph of {} nodes", rank, header.ranks(), header.nodes);
  scenario.actions = steer::replace_actions();
  scenario.window = world.window;
  scenario.capacity = buffer.slots(header.halo[rank].size());
  scenario.phases = {{0, "all of it"}};
  scenario.owners = header.part_offsets;
  scenario.rank = rank;
  scenario.halo = header.halo[rank];
  scenario.indptr = header.indptr;
  scenario.settings = world.settings;
  steer::Conditions conditions = world.conditions;
  if (conditions.row_bytes == 0) {
    conditions.row_bytes = header.row_bytes + kIdBytes;
  }
  const StepId steps = header.steps() / world.window * world.window;
  for (StepId step = 0; step < steps; ++step) {
    const std::span<const NodeId> rows = trace.ranks[rank].batch(step);
    scenario.batches.emplace_back(rows.begin(), rows.end());
  }
  scenario.conditions.assign(steps, conditions);
  scenario.training.assign(steps, 1);
  return scenario;
}

}  // namespace rudder::sim

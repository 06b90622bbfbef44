// SPDX-License-Identifier: Apache-2.0
// What watching costs a trainer: one call a batch, windows of 8 batches, the processor's load at each
// window's end. Goal: less than 1 % of a step's time; a step with 100,000 remote rows takes 50 ms and more.
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "rudder/core/rng.h"
#include "rudder/steer/observer.h"

namespace rudder::steer {
namespace {

/// Batches of `rows` rows of which half are hit, a tenth of the misses admitted.
struct Batches {
  static constexpr std::size_t kCount = 32;

  explicit Batches(std::size_t rows) : slots(4 * rows) {
    CounterRng rng({rows});
    for (std::size_t b = 0; b < kCount; ++b) {
      std::vector<NodeId> ids(rows);
      std::vector<cache::RowSource> from(rows);
      std::vector<NodeId> misses;
      std::vector<cache::Admission> kept;
      NodeId row = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        row += static_cast<NodeId>(1 + rng.below(30));
        ids[i] = row;
        if (rng.below(2) == 0) {
          from[i] = {static_cast<std::uint32_t>(rng.below(slots)), false};
        } else {
          from[i] = {static_cast<std::uint32_t>(misses.size()), true};
          if (rng.below(10) == 0) {
            kept.push_back(
                {static_cast<std::uint32_t>(misses.size()), static_cast<SlotId>(rng.below(slots))});
          }
          misses.push_back(row);
        }
      }
      row_ids.push_back(std::move(ids));
      sources.push_back(std::move(from));
      fetch.push_back(std::move(misses));
      admissions.push_back(std::move(kept));
    }
  }

  [[nodiscard]] ObservedBatch at(StepId step) const {
    const std::size_t b = step % kCount;
    return {.step = step,
            .times = {0.09, 0.005, 0.005},
            .counts = {row_ids[b].size(), row_ids[b].size() - fetch[b].size(), fetch[b].size(), 0},
            .slots = slots,
            .resident = slots,
            .rows = row_ids[b],
            .sources = sources[b],
            .fetch = fetch[b],
            .admissions = admissions[b],
            .wire_bytes = 100 * fetch[b].size(),
            .moving_seconds = 0.02,
            .owners = owners};
  }

  std::size_t slots;
  std::vector<std::vector<NodeId>> row_ids, fetch;
  std::vector<std::vector<cache::RowSource>> sources;
  std::vector<std::vector<cache::Admission>> admissions;
  std::vector<OwnerLoad> owners = std::vector<OwnerLoad>(8, OwnerLoad{100, 0.001, 4});
};

/// Arguments: remote rows a batch, one row in how many is followed.
void BM_Batch(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const Batches batches(rows);
  auto load = processor_load();
  if (!load.ok()) {
    state.SkipWithError(load.error().message.c_str());
    return;
  }
  auto observer = Observer::create({.owners = 8,
                                    .slots = batches.slots,
                                    .rows = 16 * rows,
                                    .follow = static_cast<std::uint32_t>(state.range(1)),
                                    .host = load->get()});
  if (!observer.ok()) {
    state.SkipWithError(observer.error().message.c_str());
    return;
  }
  StepId step = 0;
  for (auto _ : state) {
    (*observer)->batch(batches.at(step++));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
  state.counters["forgotten/row"] =
      static_cast<double>((*observer)->forgotten()) / static_cast<double>(step * rows);
}
BENCHMARK(BM_Batch)
    ->ArgNames({"rows", "follow"})
    ->Args({1'000, 1})
    ->Args({20'000, 1})
    ->Args({20'000, 8})
    ->Args({100'000, 1})
    ->Args({100'000, 8})
    ->Unit(benchmark::kMicrosecond);

/// What ends a window: the processor's load, and the hand-over.
void BM_ProcessorLoad(benchmark::State& state) {
  auto load = processor_load();
  if (!load.ok()) {
    state.SkipWithError(load.error().message.c_str());
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize((*load)->busy());
  }
}
BENCHMARK(BM_ProcessorLoad)->Unit(benchmark::kMicrosecond);

void BM_PushWindow(benchmark::State& state) {
  WindowRing ring(16);
  const Window window;
  for (auto _ : state) {
    ring.push(window);
  }
}
BENCHMARK(BM_PushWindow)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rudder::steer

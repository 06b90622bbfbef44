// SPDX-License-Identifier: Apache-2.0
// Slot lookups and planning, beside what memory allows. Rates are rows per second of one core.
//
// Limit: a load from a plain array of the same bytes as the index, at the same random order of rows. Targets:
// at least 50 M lookups/s while the index fits the L2 cache.
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include <benchmark/benchmark.h>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/cache/slot_index.h"
#include "rudder/core/rng.h"

namespace rudder::cache {
namespace {

constexpr std::size_t kProbes = std::size_t{1} << 16;

struct Cell {
  NodeId row = 0;
  SlotId slot = 0;
};

/// Rows are even numbers; odd ones miss. `hit_share` in percent.
std::vector<NodeId> probes(std::size_t rows, std::uint64_t hit_share) {
  CounterRng rng({rows, hit_share});
  std::vector<NodeId> result(kProbes);
  for (NodeId& row : result) {
    row = static_cast<NodeId>(2 * rng.below(rows) + (rng.below(100) < hit_share ? 0 : 1));
  }
  return result;
}

SlotIndex filled_index(std::size_t rows) {
  SlotIndex index(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    index.insert(static_cast<NodeId>(2 * i), static_cast<SlotId>(i));
  }
  return index;
}

void count_rows(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kProbes));
}

/// Arguments: rows in the index, share of hits in percent.
void BM_FindMany(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const SlotIndex index = filled_index(rows);
  const std::vector<NodeId> wanted = probes(rows, static_cast<std::uint64_t>(state.range(1)));
  std::vector<SlotId> slots(wanted.size());
  for (auto _ : state) {
    index.find_many(wanted, slots);
    benchmark::DoNotOptimize(slots.data());
    benchmark::ClobberMemory();
  }
  count_rows(state);
}

void BM_FindOneByOne(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const SlotIndex index = filled_index(rows);
  const std::vector<NodeId> wanted = probes(rows, static_cast<std::uint64_t>(state.range(1)));
  for (auto _ : state) {
    SlotId sum = 0;
    for (const NodeId row : wanted) {
      sum += index.find(row);
    }
    benchmark::DoNotOptimize(sum);
  }
  count_rows(state);
}

void BM_LimitArrayLoad(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  std::size_t cells = 1;
  while (cells < 2 * rows) {
    cells *= 2;
  }
  std::vector<Cell> table(cells);
  CounterRng rng({rows});
  std::vector<std::uint64_t> at(kProbes);
  for (std::uint64_t& i : at) {
    i = rng.below(cells);
  }
  std::vector<SlotId> slots(kProbes);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kProbes; ++i) {
      slots[i] = table[at[i]].slot;
    }
    benchmark::DoNotOptimize(slots.data());
    benchmark::ClobberMemory();
  }
  count_rows(state);
}

// 8 Ki and 32 Ki rows make indexes of 256 KiB and 1 MiB; 1 Mi rows make 32 MiB, beyond any L2 cache.
BENCHMARK(BM_FindMany)->ArgsProduct({{8 << 10, 32 << 10, 1 << 20}, {100, 50, 0}});
BENCHMARK(BM_FindOneByOne)->ArgsProduct({{32 << 10}, {100, 50, 0}});
BENCHMARK(BM_LimitArrayLoad)->Arg(8 << 10)->Arg(32 << 10)->Arg(1 << 20);

/// Batches of 10,000 rows out of 400,000, half of them from a tenth of the rows.
std::vector<std::vector<NodeId>> batches() {
  CounterRng rng({3});
  std::vector<std::vector<NodeId>> result(200);
  for (std::vector<NodeId>& batch : result) {
    std::set<NodeId> rows;
    while (rows.size() < 10'000) {
      rows.insert(static_cast<NodeId>(rng.below(rng.below(2) == 0 ? 40'000 : 400'000)));
    }
    batch.assign(rows.begin(), rows.end());
  }
  return result;
}

/// Plans of a whole run with 100,000 slots; the rate counts requested rows.
void BM_Plan(benchmark::State& state, const char* policy) {
  const std::vector<std::vector<NodeId>> run = batches();
  const std::vector<float> vip(400'000, 0.5F);
  const std::vector<EdgeIndex> indptr(400'001, 0);
  PolicyContext context;
  context.capacity = 100'000;
  context.steps = run.size();
  context.vip = vip;
  context.indptr = indptr;
  std::uint64_t fetched = 0;
  for (auto _ : state) {
    Planner planner((*find_policy(policy))->make(context, PolicySettings{}), context.capacity, 4);
    for (const std::vector<NodeId>& rows : run) {
      planner.push(rows);
    }
    planner.finish();
    while (!planner.done()) {
      benchmark::DoNotOptimize(planner.next());
    }
    fetched = planner.totals().fetched;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(run.size() * run.front().size()));
  state.counters["seconds_per_batch"] =
      benchmark::Counter(static_cast<double>(state.iterations() * static_cast<std::int64_t>(run.size())),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["fetched"] = static_cast<double>(fetched);
}

BENCHMARK_CAPTURE(BM_Plan, lookahead, "lookahead")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Plan, min, "min")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Plan, lru, "lru")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Plan, lfu, "lfu")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Plan, clock, "clock")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rudder::cache

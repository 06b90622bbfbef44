// SPDX-License-Identifier: Apache-2.0
// Random rows gathered into a dense block, beside one memcpy of the same number of bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>

#include "rudder/core/aligned.h"
#include "rudder/core/gather.h"
#include "rudder/core/machine.h"
#include "rudder/core/rng.h"

#include "thread_time.h"

namespace rudder::bench {
namespace {

constexpr std::size_t kRows = 100'000;

/// Larger than the last-level cache, so that rows come from memory; every page is written.
AlignedBytes make_table() {
  AlignedBytes table(std::max(std::size_t{1} << 30, 2 * this_machine().cache_l3_bytes));
  std::memset(table.data(), 1, table.size());
  return table;
}

/// Counters: bytes/s of the gather and of memcpy (from changing places of the same table, into the same
/// block), best of the run each, alternating; and their ratio.
void gather(benchmark::State& state) {
  static const AlignedBytes table = make_table();
  const auto row_bytes = static_cast<std::size_t>(state.range(0));
  const std::size_t block = kRows * row_bytes;
  AlignedBytes out(block);
  std::memset(out.data(), 0, out.size());
  std::vector<std::uint32_t> rows(kRows);
  CounterRng rng{1};
  double gather_best = 1e9;
  double copy_best = 1e9;
  for (auto _ : state) {
    for (std::uint32_t& row : rows) {
      row = static_cast<std::uint32_t>(rng.below(table.size() / row_bytes));
    }
    const std::size_t from = rng.below(table.size() - block);
    const double start = thread_seconds();
    gather_rows(table.bytes(), row_bytes, std::span<const std::uint32_t>(rows), out.data());
    benchmark::ClobberMemory();
    const double middle = thread_seconds();
    std::memcpy(out.data(), table.data() + from, block);
    benchmark::ClobberMemory();
    const double end = thread_seconds();
    gather_best = std::min(gather_best, middle - start);
    copy_best = std::min(copy_best, end - middle);
  }
  state.counters["gather_bytes/s"] = static_cast<double>(block) / gather_best;
  state.counters["memcpy_bytes/s"] = static_cast<double>(block) / copy_best;
  state.counters["of_memcpy"] = copy_best / gather_best;
}

BENCHMARK(gather)->Arg(128)->Arg(512)->Arg(1024)->Arg(3072)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rudder::bench

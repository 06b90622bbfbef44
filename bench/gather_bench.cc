// SPDX-License-Identifier: Apache-2.0
// Random rows gathered into a dense block, beside one memcpy of the same number of bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include "rudder/core/aligned.h"
#include "rudder/core/gather.h"
#include "rudder/core/machine.h"
#include "rudder/core/rng.h"

#include "thread_time.h"

namespace rudder::bench {
namespace {

constexpr std::size_t kRows = 100'000;
constexpr std::size_t kPage = 4096;

/// Larger than the last-level cache, so that rows come from memory; every page is written.
AlignedBytes make_table(bool huge_pages) {
  AlignedBytes table(std::max(std::size_t{1} << 30, 2 * this_machine().cache_l3_bytes));
  const auto address = reinterpret_cast<std::uintptr_t>(table.data());
  const std::size_t skip = kPage - address % kPage;  // to the next page border
  const std::size_t pages = (table.size() - skip) / kPage;
  madvise(table.data() + skip, pages * kPage, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(table.data(), 1, table.size());
  return table;
}

/// Arguments: bytes a row; whether the table may lie on huge pages (else, as in a mapped file, random rows
/// pay for page walks, which memcpy's run of pages does not). Counters: bytes/s of the gather and of memcpy
/// (from changing places of the same table, into the same block), best of the run each, alternating; and
/// their ratio.
void gather(benchmark::State& state) {
  static const AlignedBytes tables[] = {make_table(false), make_table(true)};
  const AlignedBytes& table = tables[state.range(1)];
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

BENCHMARK(gather)
    ->ArgsProduct({{128, 512, 1024, 3072}, {0, 1}})
    ->ArgNames({"row_bytes", "huge_pages"})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rudder::bench

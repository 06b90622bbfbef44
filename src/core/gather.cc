// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/gather.h"

#include <algorithm>
#include <cstring>

#include "rudder/core/check.h"

namespace rudder {
namespace {

constexpr std::size_t kLine = 64;
/// Bytes requested ahead of the copy: enough to cover a memory latency at full bandwidth, well below the
/// first-level cache.
constexpr std::size_t kBytesAhead = 4096;
/// The processor's own prefetcher takes over in longer rows.
constexpr std::size_t kLinesAhead = 16;

void prefetch_row(const std::byte* row, std::size_t lines) {
  for (std::size_t line = 0; line < lines; ++line) {
    __builtin_prefetch(row + line * kLine, 0);
  }
}

/// `row_of(i)` is the address of row i.
template <class RowOf>
void gather(std::size_t count, std::size_t row_bytes, std::byte* out, RowOf row_of) {
  if (row_bytes == 0) {
    return;
  }
  const std::size_t ahead = std::clamp<std::size_t>(kBytesAhead / row_bytes, 2, 32);
  // A row need not start on a line border, so it may touch one line more.
  const std::size_t lines = std::min((row_bytes + kLine - 2) / kLine + 1, kLinesAhead);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) {
      prefetch_row(row_of(i + ahead), lines);
    }
    std::memcpy(out + i * row_bytes, row_of(i), row_bytes);
  }
}

template <class Index>
void gather_indexed(std::span<const std::byte> table, std::size_t row_bytes, std::span<const Index> rows,
                    std::byte* out) {
  for ([[maybe_unused]] const Index row : rows) {
    RUDDER_PARANOID(
        row_bytes == 0 || (row >= Index{0} && static_cast<std::size_t>(row) < table.size() / row_bytes),
        "a row index is outside its table");
  }
  gather(rows.size(), row_bytes, out, [base = table.data(), row_bytes, rows](std::size_t i) {
    return base + static_cast<std::size_t>(rows[i]) * row_bytes;
  });
}

}  // namespace

void gather_rows(std::span<const std::byte> table, std::size_t row_bytes, std::span<const std::uint32_t> rows,
                 std::byte* out) noexcept {
  gather_indexed(table, row_bytes, rows, out);
}

void gather_rows(std::span<const std::byte> table, std::size_t row_bytes, std::span<const NodeId> rows,
                 std::byte* out) noexcept {
  gather_indexed(table, row_bytes, rows, out);
}

void gather_rows(std::span<const std::byte* const> sources, std::size_t row_bytes, std::byte* out) noexcept {
  gather(sources.size(), row_bytes, out, [sources](std::size_t i) { return sources[i]; });
}

}  // namespace rudder

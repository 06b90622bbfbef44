// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/gather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "rudder/core/check.h"

namespace rudder {
namespace {

constexpr std::size_t kLine = 64;
/// Lines of a row that are requested ahead; in longer rows the processor's own prefetcher takes over.
constexpr std::size_t kLinesAhead = 64;
/// Whole rows are requested into the second-level cache this many bytes ahead of the copy: enough for the
/// memory's latency at full bandwidth, and a small part of that cache.
constexpr std::size_t kBytesAhead = 16 * 1024;
/// The first line of each row is requested this many rows earlier still, for the sake of its page's address:
/// random rows miss the TLB, and a page walk may take as long as the row.
constexpr std::size_t kRowsAhead = 64;
/// Results of at least this size bypass the caches: they would not stay there, and an ordinary store reads
/// each line from memory before it is overwritten.
constexpr std::size_t kStreamBytes = std::size_t{8} << 20;

void prefetch_l2(const std::byte* address) {
  __builtin_prefetch(address, 0, 2);
}

struct CopyRow {
  void operator()(std::byte* to, const std::byte* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  static void finish() {}
};

#if defined(__SSE2__)
constexpr bool kCanStream = true;
/// Stores that bypass the caches. `to` and `bytes` are multiples of 16.
struct StreamRow {
  void operator()(std::byte* to, const std::byte* from, std::size_t bytes) const {
    std::size_t k = 0;
    for (; k + kLine <= bytes; k += kLine) {  // a line's four stores together fill one write-combining buffer
      const __m128i a = load(from + k);
      const __m128i b = load(from + k + 16);
      const __m128i c = load(from + k + 32);
      const __m128i d = load(from + k + 48);
      stream(to + k, a);
      stream(to + k + 16, b);
      stream(to + k + 32, c);
      stream(to + k + 48, d);
    }
    for (; k < bytes; k += 16) {
      stream(to + k, load(from + k));
    }
  }
  static __m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
  static void stream(void* to, __m128i value) { _mm_stream_si128(static_cast<__m128i*>(to), value); }
  /// Orders the stores before whatever tells others that the rows are there.
  static void finish() { _mm_sfence(); }
};
#else
constexpr bool kCanStream = false;
using StreamRow = CopyRow;
#endif

/// `row_of(i)` is the address of row i.
template <class Copy, class RowOf>
void gather_with(std::size_t count, std::size_t row_bytes, std::byte* out, RowOf row_of) {
  const std::size_t ahead = std::clamp<std::size_t>(kBytesAhead / row_bytes, 2, kRowsAhead);
  const std::size_t first_ahead = ahead + kRowsAhead;
  const std::size_t spanned = std::min(row_bytes, kLinesAhead * kLine);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + first_ahead < count) {
      prefetch_l2(row_of(i + first_ahead));
    }
    if (i + ahead < count) {
      const std::byte* row = row_of(i + ahead);
      const std::byte* end = row + spanned;
      // From line to line: a row need not start on a line border.
      for (row -= reinterpret_cast<std::uintptr_t>(row) % kLine; row < end; row += kLine) {
        prefetch_l2(row);
      }
    }
    Copy{}(out + i * row_bytes, row_of(i), row_bytes);
  }
  Copy::finish();
}

template <class RowOf>
void gather(std::size_t count, std::size_t row_bytes, std::byte* out, RowOf row_of) {
  if (row_bytes == 0) {
    return;
  }
  const bool aligned = reinterpret_cast<std::uintptr_t>(out) % 16 == 0 && row_bytes % 16 == 0;
  if (kCanStream && aligned && count >= kStreamBytes / row_bytes) {
    gather_with<StreamRow>(count, row_bytes, out, row_of);
  } else {
    gather_with<CopyRow>(count, row_bytes, out, row_of);
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

// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/trace_export.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/files.h"

namespace rudder::cache {
namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 20;

template <class T>
void put_le(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff));
  }
}

/// For each request the 1-based position of the next one for the same row, or -1.
std::vector<std::int64_t> next_accesses(const std::vector<NodeId>& rows) {
  std::vector<std::int64_t> next(rows.size());
  std::unordered_map<NodeId, std::int64_t> later;
  for (std::size_t i = rows.size(); i-- > 0;) {
    const auto [entry, is_last] = later.try_emplace(rows[i], -1);
    next[i] = entry->second;
    entry->second = static_cast<std::int64_t>(i) + 1;
  }
  return next;
}

}  // namespace

Status export_oracle_general(const Trace& trace, Rank rank, const std::filesystem::path& path) {
  if (rank >= trace.ranks.size()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("no rank {} in a trace of {} ranks", rank, trace.ranks.size())};
  }
  if (trace.header.row_bytes == 0) {
    return Error{Errc::kUnsupported, "the trace has rows of 0 bytes, which libCacheSim skips"};
  }
  const Trace::RankBatches& batches = trace.ranks[rank];
  const std::size_t steps = batches.offsets.size() - 1;
  if (steps > std::numeric_limits<std::uint32_t>::max()) {
    return Error{Errc::kUnsupported, fmt::format("{} batches exceed oracleGeneral's 32-bit time", steps)};
  }
  const std::vector<std::int64_t> next = next_accesses(batches.rows);
  RUDDER_ASSIGN(AtomicFile file, AtomicFile::create(path));
  std::string out;
  for (StepId step = 0; step < steps; ++step) {
    for (std::uint64_t i = batches.offsets[step]; i < batches.offsets[step + 1]; ++i) {
      put_le(out, static_cast<std::uint32_t>(step));
      put_le(out, static_cast<std::uint64_t>(batches.rows[i]));
      put_le(out, trace.header.row_bytes);
      put_le(out, next[i]);
    }
    if (out.size() >= kFlushAt) {
      RUDDER_TRY(file.write(out));
      out.clear();
    }
  }
  RUDDER_TRY(file.write(out));
  return file.commit();
}

Status export_csv(const Trace& trace, const std::filesystem::path& path) {
  RUDDER_ASSIGN(AtomicFile file, AtomicFile::create(path));
  std::string out = "rank,step,row\n";
  for (Rank rank = 0; rank < trace.ranks.size(); ++rank) {
    const Trace::RankBatches& batches = trace.ranks[rank];
    for (StepId step = 0; step + 1 < batches.offsets.size(); ++step) {
      for (const NodeId row : batches.batch(step)) {
        fmt::format_to(std::back_inserter(out), "{},{},{}\n", rank, step, row);
      }
      if (out.size() >= kFlushAt) {
        RUDDER_TRY(file.write(out));
        out.clear();
      }
    }
  }
  RUDDER_TRY(file.write(out));
  return file.commit();
}

}  // namespace rudder::cache

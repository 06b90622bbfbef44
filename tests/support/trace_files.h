// SPDX-License-Identifier: Apache-2.0
// Trace files for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rudder/cache/trace.h"
#include "rudder/core/files.h"
#include "rudder/core/rng.h"

namespace rudder::cache::testing_support {

class TraceFile : public testing::Test {
 protected:
  TraceFile() : directory_(TemporaryDirectory::create("rudder-trace").value()) {}
  [[nodiscard]] std::filesystem::path file(const char* name = "t.trace") const {
    return directory_.path() / name;
  }

  TemporaryDirectory directory_;
};

struct Recorded {
  TraceHeader header;
  std::vector<std::vector<std::vector<NodeId>>> batches;  ///< by rank and step
};

inline std::vector<NodeId> random_remote_rows(CounterRng& rng, const TraceHeader& header, Rank rank,
                                              std::size_t count) {
  std::set<NodeId> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(header.nodes)));
    if (row < header.part_offsets[rank] || row >= header.part_offsets[rank + 1]) {
      rows.insert(row);
    }
  }
  return {rows.begin(), rows.end()};
}

inline Recorded random_trace(std::uint64_t seed) {
  CounterRng rng({seed, 1});
  Recorded out;
  TraceHeader& header = out.header;
  const std::size_t ranks = 1 + rng.below(5);
  header.partition_digest = fmt::format("digest-{}", seed);
  header.seed = rng();
  header.row_bytes = static_cast<std::uint32_t>(rng.below(1000));
  header.epochs = static_cast<std::uint32_t>(rng.below(4));
  header.steps_per_epoch = static_cast<std::uint32_t>(1 + rng.below(6));
  header.batch = static_cast<std::uint32_t>(rng());
  header.fanout = {10, -1, static_cast<int>(rng.below(100))};
  header.part_offsets = {0};
  for (std::size_t i = 0; i < ranks; ++i) {
    header.part_offsets.push_back(header.part_offsets.back() + static_cast<NodeId>(rng.below(500)));
  }
  header.part_offsets.back() += 1;
  header.nodes = header.part_offsets.back();
  const bool full = rng.below(4) != 0;
  if (full) {
    header.indptr = {0};
    for (NodeId i = 0; i < header.nodes; ++i) {
      header.indptr.push_back(header.indptr.back() + static_cast<EdgeIndex>(rng() >> (12 + rng.below(52))));
    }
  }
  for (Rank rank = 0; rank < ranks; ++rank) {
    header.halo.push_back(random_remote_rows(rng, header, rank, rng.below(400)));
    if (full) {
      header.vip.emplace_back();
      for (NodeId i = 0; i < header.nodes; ++i) {
        header.vip.back().push_back(static_cast<float>(rng.unit()));
      }
    }
    out.batches.emplace_back();
    for (StepId step = 0; step < header.steps(); ++step) {
      out.batches.back().push_back(random_remote_rows(rng, header, rank, rng.below(300)));
    }
  }
  return out;
}

inline Status write_trace(const std::filesystem::path& path, const Recorded& recorded) {
  RUDDER_ASSIGN(TraceWriter writer, TraceWriter::create(path, recorded.header));
  for (StepId step = 0; step < recorded.header.steps(); ++step) {
    for (Rank rank = 0; rank < recorded.header.ranks(); ++rank) {
      RUDDER_TRY(writer.append(rank, step, recorded.batches[rank][step]));
    }
  }
  return writer.commit();
}

/// Without the sync of write_text(): damaged files are written by the thousand.
inline void overwrite(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::remove(path);  // some file systems sync a file that was truncated and written again
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A small valid trace, kept small so that every byte can be tried.
inline std::string small_trace(const std::filesystem::path& path) {
  Recorded recorded;
  recorded.header.partition_digest = "d";
  recorded.header.nodes = 12;
  recorded.header.part_offsets = {0, 6, 12};
  recorded.header.epochs = 1;
  recorded.header.steps_per_epoch = 2;
  recorded.header.indptr = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  recorded.header.halo = {{6, 7}, {0, 1}};
  recorded.header.vip.assign(2, std::vector<float>(12, 0.25F));
  recorded.batches = {{{6, 8}, {}}, {{0, 5}, {3}}};
  EXPECT_TRUE(write_trace(path, recorded).ok());
  return read_text(path).value();
}

}  // namespace rudder::cache::testing_support

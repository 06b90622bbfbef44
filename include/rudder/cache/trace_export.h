// SPDX-License-Identifier: Apache-2.0
// Traces for other cache simulators.
#pragma once

#include <filesystem>

#include "rudder/cache/trace.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::cache {

/// Writes one rank's requests in libCacheSim's oracleGeneral format: 24 packed little-endian bytes a request,
///   u32 clock_time (the batch), u64 obj_id (the row), u32 obj_size (row_bytes), i64 next_access_vtime.
/// next_access_vtime is the position of the next request for the same row, counted from 1 as libCacheSim's
/// own converter does, or -1 when there is none. Rows of a batch follow in ascending order. libCacheSim skips
/// objects of size 0, so row_bytes must not be 0.
[[nodiscard]] Status export_oracle_general(const Trace& trace, Rank rank, const std::filesystem::path& path);

/// Writes all ranks' requests as text: a line "rank,step,row", then one line a request.
[[nodiscard]] Status export_csv(const Trace& trace, const std::filesystem::path& path);

}  // namespace rudder::cache

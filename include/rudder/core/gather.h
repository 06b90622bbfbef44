// SPDX-License-Identifier: Apache-2.0
// Copies scattered rows of a table into one dense block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rudder/core/ids.h"

namespace rudder {

/// out row i = table row rows[i]. Rows lie `row_bytes` apart in both; each index must be inside the table
/// (checked at check level paranoid). `out` holds rows.size() rows and must not overlap the table. Rows are
/// prefetched some way ahead, so that random rows cost bandwidth rather than latency. Thread-safe.
void gather_rows(std::span<const std::byte> table, std::size_t row_bytes, std::span<const std::uint32_t> rows,
                 std::byte* out) noexcept;
void gather_rows(std::span<const std::byte> table, std::size_t row_bytes, std::span<const NodeId> rows,
                 std::byte* out) noexcept;

/// out row i = the row that starts at sources[i]: rows from several tables (local, buffer, staging) in one
/// pass.
void gather_rows(std::span<const std::byte* const> sources, std::size_t row_bytes, std::byte* out) noexcept;

}  // namespace rudder

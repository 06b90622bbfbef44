// SPDX-License-Identifier: Apache-2.0
// Headerless CSV files of numbers, plain or gzip, as pandas writes them: no quotes, no spaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::graph {

/// Calls `row` with the integers of each line. A line with other than `columns` integers, or an error of
/// `row`, ends the reading with an error that names the line.
[[nodiscard]] Status for_each_int_row(const std::filesystem::path& path, std::size_t columns,
                                      const std::function<Status(std::span<const std::int64_t>)>& row);

/// A file of one integer a line, of at most `limit` bytes in memory.
[[nodiscard]] Result<std::vector<std::int64_t>> read_int_column(const std::filesystem::path& path,
                                                                std::size_t limit);

struct LabelTable {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::int64_t> classes;  ///< of one column
  std::vector<std::uint8_t> flags;    ///< of several, row after row
};

/// One label a line, an integer or a float that is a whole number; NaN or nothing is -1. Or as many columns
/// as the first line has, each 0 or 1.
[[nodiscard]] Result<LabelTable> read_labels(const std::filesystem::path& path, std::size_t limit);

struct FloatTable {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::byte> values;  ///< f32, row after row
};

/// Every line has as many finite floats as the first.
[[nodiscard]] Result<FloatTable> read_float_table(const std::filesystem::path& path, std::size_t limit);

}  // namespace rudder::graph

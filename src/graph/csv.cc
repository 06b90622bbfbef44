// SPDX-License-Identifier: Apache-2.0
#include "graph/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "graph/elements.h"
#include "graph/import_common.h"
#include "graph/seeded.h"
#include "graph/text_lines.h"

namespace rudder::graph {
namespace {

/// Room for kMaxFeatures numbers in a line.
constexpr std::size_t kMaxCsvLine = std::size_t{4} << 20;

/// Reads one number and the comma or end of line after it. `last` tells which.
template <class T>
bool take_number(std::string_view& rest, T& value, bool& last) {
  const auto [after, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const std::size_t used = static_cast<std::size_t>(after - rest.data());
  last = used == rest.size();
  if (error != std::errc() || (!last && rest[used] != ',')) {
    return false;
  }
  rest.remove_prefix(last ? used : used + 1);
  return true;
}

/// Reads a line of floats into `row`.
Status read_float_row(const LineReader& reader, std::string_view line, std::vector<float>& row) {
  row.clear();
  std::string_view rest = line;
  bool last = false;
  while (!last) {
    float value = 0;
    if (!take_number(rest, value, last) || !std::isfinite(value)) {
      return reader.error_at(line, fmt::format("column {} is not a finite number", row.size() + 1));
    }
    row.push_back(value);
    if (row.size() > kMaxFeatures) {
      return reader.error_at(line, fmt::format("more than {} columns", kMaxFeatures));
    }
  }
  return {};
}

/// Reads a line of one label.
Status read_class(const LineReader& reader, std::string_view line, std::vector<std::int64_t>& out) {
  double value = std::nan("");
  std::string_view rest = line;
  bool last = true;
  std::int64_t label = -1;
  if ((!line.empty() && !take_number(rest, value, last)) || !label_from_double(value, label)) {
    return reader.error_at(line, "not a class number");
  }
  out.push_back(label);
  return {};
}

/// Reads a line of labels of 0 or 1.
Status read_flags(const LineReader& reader, std::string_view line, std::vector<std::uint8_t>& out) {
  std::string_view rest = line;
  bool last = false;
  for (std::size_t column = 1; !last; ++column) {
    double value = 0;
    if (!take_number(rest, value, last) || (value != 0 && value != 1)) {
      return reader.error_at(line, fmt::format("column {} is neither 0 nor 1", column));
    }
    out.push_back(value == 1 ? 1 : 0);
  }
  return {};
}

/// Whether one more element of `size` bytes may be appended to a vector that doubles when it is full.
template <class T>
bool may_grow(const std::vector<T>& values, std::size_t more, std::size_t limit) {
  return values.size() + more <= values.capacity() || 2 * (values.size() + more) * sizeof(T) <= limit;
}

}  // namespace

Status for_each_int_row(const std::filesystem::path& path, std::size_t columns,
                        const std::function<Status(std::span<const std::int64_t>)>& row) {
  RUDDER_ASSIGN(LineReader reader, LineReader::open(path));
  std::vector<std::int64_t> values(columns);
  std::string_view line;
  while (reader.next(line)) {
    std::string_view rest = line;
    bool last = false;
    for (std::size_t i = 0; i < columns; ++i) {
      if (last || !take_number(rest, values[i], last)) {
        return reader.error_at(line, fmt::format("{} integers are expected", columns));
      }
    }
    if (!last) {
      return reader.error_at(line, fmt::format("more than {} columns", columns));
    }
    if (const Status status = row(values); !status.ok()) {
      return status.error().in(fmt::format("{}: line {}", reader.where(), reader.number()));
    }
  }
  return reader.status();
}

Result<std::vector<std::int64_t>> read_int_column(const std::filesystem::path& path, std::size_t limit) {
  std::vector<std::int64_t> out;
  RUDDER_TRY(for_each_int_row(path, 1, [&](std::span<const std::int64_t> row) {
    if (!may_grow(out, 1, limit)) {
      return Status(over_limit("", "the column", limit));
    }
    out.push_back(row[0]);
    return Status();
  }));
  return out;
}

Result<LabelTable> read_labels(const std::filesystem::path& path, std::size_t limit) {
  RUDDER_ASSIGN(LineReader reader, LineReader::open(path, kMaxCsvLine));
  LabelTable out;
  std::string_view line;
  while (reader.next(line)) {
    const auto columns = static_cast<std::size_t>(std::ranges::count(line, ',')) + 1;
    out.columns = out.rows == 0 ? columns : out.columns;
    if (columns != out.columns) {
      return reader.error_at(line, fmt::format("{} columns, {} before", columns, out.columns));
    }
    if (!may_grow(out.classes, 1, limit) || !may_grow(out.flags, columns, limit)) {
      return over_limit(reader.where(), "the labels", limit);
    }
    RUDDER_TRY(columns == 1 ? read_class(reader, line, out.classes) : read_flags(reader, line, out.flags));
    ++out.rows;
  }
  RUDDER_TRY(reader.status());
  return out;
}

Result<FloatTable> read_float_table(const std::filesystem::path& path, std::size_t limit) {
  RUDDER_ASSIGN(LineReader reader, LineReader::open(path, kMaxCsvLine));
  FloatTable table;
  std::vector<float> row;
  std::string_view line;
  while (reader.next(line)) {
    RUDDER_TRY(read_float_row(reader, line, row));
    if (table.rows == 0) {
      table.columns = row.size();
    } else if (row.size() != table.columns) {
      return reader.error_at(line, fmt::format("{} columns, {} before", row.size(), table.columns));
    }
    const auto bytes = std::as_bytes(std::span(row));
    if (!may_grow(table.values, bytes.size(), limit)) {
      return over_limit(reader.where(), fmt::format("more than {} rows", table.rows), limit);
    }
    table.values.insert(table.values.end(), bytes.begin(), bytes.end());
    ++table.rows;
  }
  RUDDER_TRY(reader.status());
  return table;
}

}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
// Delimited text with a header line, read line by line; errors name file, line and value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::sched {

class TextTable {
 public:
  /// Reads the whole file (at most 1 GiB) and its header. Double quotes are understood only with commas.
  [[nodiscard]] static Result<TextTable> open(const std::filesystem::path& path, char delimiter);

  /// kInvalidData naming the columns that are missing.
  [[nodiscard]] Status require(std::initializer_list<std::string_view> columns) const;
  /// kInvalidData when a column that is none of these is called nearly like one: it would pass unread.
  [[nodiscard]] Status check_names(std::span<const std::string_view> known) const;
  [[nodiscard]] bool has(std::string_view column) const noexcept;

  /// Goes to the next line that is not empty; false at the end.
  [[nodiscard]] Result<bool> next();
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }
  /// Of the present line; empty when the column does not exist.
  [[nodiscard]] std::string_view text(std::string_view column) const noexcept;
  /// Whole numbers may be written as 8.0. Empty text is `missing`, or an error when there is none.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view column, std::int64_t low, std::int64_t high,
                                             std::optional<std::int64_t> missing = std::nullopt) const;
  [[nodiscard]] Result<double> real(std::string_view column, double low, double high,
                                    std::optional<double> missing = std::nullopt) const;
  /// kInvalidData "FILE:LINE: what 'value'".
  [[nodiscard]] Error bad(std::string_view what, std::string_view value) const;

 private:
  [[nodiscard]] std::string_view take_line();
  [[nodiscard]] Result<std::vector<std::string>> split(std::string_view line) const;
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const noexcept;

  std::string path_;
  std::string content_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
  char delimiter_ = ',';
  std::vector<std::string> header_;
  std::vector<std::string> fields_;
};

/// "2017-10-09 07:01:55", "2023-03-01T00:00:00+08:00", "...Z": seconds since 1970; without a zone as UTC.
[[nodiscard]] std::optional<std::int64_t> parse_timestamp(std::string_view text) noexcept;
/// Slurm's "1-02:03:04", "02:03:04", "03:04": seconds.
[[nodiscard]] std::optional<std::int64_t> parse_elapsed(std::string_view text) noexcept;

}  // namespace rudder::sched

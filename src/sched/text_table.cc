// SPDX-License-Identifier: Apache-2.0
#include "sched/text_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/text.h"

namespace rudder::sched {
namespace {

constexpr std::size_t kFileLimit = std::size_t{1} << 30;
constexpr std::size_t kFieldLimit = 4096;
constexpr std::size_t kColumnLimit = 1024;

/// Digits [from, from + count) of the text, or nothing.
std::optional<std::int64_t> digits(std::string_view text, std::size_t from, std::size_t count) noexcept {
  if (from + count > text.size() || text[from] < '0' || text[from] > '9') {
    return std::nullopt;
  }
  return parse_int(text.substr(from, count));
}

/// Days since 1970-01-01 of a date in the Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms", days_from_civil).
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day) noexcept {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = year / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

std::int64_t days_in(std::int64_t year, std::int64_t month) noexcept {
  const std::int64_t next = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
  return next - days_of(year, month, 1);
}

/// "+08:00", "+0800", "Z" or nothing: seconds east of UTC.
std::optional<std::int64_t> parse_zone(std::string_view text) noexcept {
  if (text.empty() || text == "Z") {
    return 0;
  }
  if (text.size() != 6 && text.size() != 5) {
    return std::nullopt;
  }
  const auto hours = digits(text, 1, 2);
  const auto minutes = digits(text, text.size() - 2, 2);
  const bool sign = text[0] == '+' || text[0] == '-';
  if (!sign || !hours || !minutes || *hours > 14 || *minutes > 59 || (text.size() == 6 && text[3] != ':')) {
    return std::nullopt;
  }
  return (text[0] == '-' ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<std::int64_t> parse_timestamp(std::string_view text) noexcept {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') ||
      text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2);
  const auto minute = digits(text, 14, 2);
  const auto second = digits(text, 17, 2);
  std::string_view rest = text.substr(19);
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  }
  const auto zone = parse_zone(rest);
  if (!year || !month || !day || !hour || !minute || !second || !zone || *year < 1970 || *month < 1 ||
      *month > 12 || *day < 1 || *day > days_in(*year, *month) || *hour > 23 || *minute > 59 ||
      *second > 60) {
    return std::nullopt;
  }
  return days_of(*year, *month, *day) * 86400 + *hour * 3600 + *minute * 60 + *second - *zone;
}

std::optional<std::int64_t> parse_elapsed(std::string_view text) noexcept {
  std::int64_t days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto value = parse_int(text.substr(0, dash));
    if (!value || *value < 0 || *value > 1'000'000) {
      return std::nullopt;
    }
    days = *value;
    text.remove_prefix(dash + 1);
  }
  if (const std::size_t point = text.find('.'); point != std::string_view::npos) {
    text = text.substr(0, point);
  }
  std::int64_t seconds = 0;
  int parts = 0;
  while (parts < 3) {
    const std::size_t colon = text.find(':');
    const auto value = parse_int(text.substr(0, colon));
    if (!value || *value < 0 || *value > 1'000'000) {
      return std::nullopt;
    }
    seconds = seconds * 60 + *value;
    ++parts;
    if (colon == std::string_view::npos) {
      return parts < 2 ? std::nullopt : std::optional(days * 86400 + seconds);
    }
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

Error TextTable::bad(std::string_view what, std::string_view value) const {
  return {Errc::kInvalidData,
          fmt::format("{}:{}: {} '{}'", path_, line_, what, printable(value.substr(0, 80)))};
}

std::string_view TextTable::take_line() {
  const std::size_t end = std::min(content_.find('\n', at_), content_.size());
  std::string_view line = std::string_view(content_).substr(at_, end - at_);
  at_ = std::min(end + 1, content_.size());
  ++line_;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

Result<std::vector<std::string>> TextTable::split(std::string_view line) const {
  if (line.find('\0') != std::string_view::npos) {
    return bad("a zero byte after", line.substr(0, line.find('\0')));
  }
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[i++];
    } else if (delimiter_ == ',' && c == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (c == delimiter_ && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
    if (fields.back().size() > kFieldLimit || fields.size() > kColumnLimit) {
      return bad("a line longer than any job's:", line);
    }
  }
  if (quoted) {
    return bad("a quote that does not end:", line);
  }
  return fields;
}

Result<TextTable> TextTable::open(const std::filesystem::path& path, char delimiter) {
  TextTable table;
  table.path_ = path.string();
  table.delimiter_ = delimiter;
  RUDDER_ASSIGN(table.content_, read_text(path, kFileLimit));
  if (table.content_.starts_with("\xef\xbb\xbf")) {
    table.at_ = 3;
  }
  RUDDER_ASSIGN(table.header_, table.split(table.take_line()));
  for (std::size_t i = 0; i < table.header_.size(); ++i) {
    if (std::find(table.header_.begin(), table.header_.begin() + static_cast<std::ptrdiff_t>(i),
                  table.header_[i]) != table.header_.begin() + static_cast<std::ptrdiff_t>(i)) {
      return table.bad("repeated column", table.header_[i]);
    }
  }
  return table;
}

std::optional<std::size_t> TextTable::column(std::string_view name) const noexcept {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - header_.begin());
}

bool TextTable::has(std::string_view name) const noexcept {
  return column(name).has_value();
}

Status TextTable::require(std::initializer_list<std::string_view> columns) const {
  for (const std::string_view name : columns) {
    if (!has(name)) {
      return bad("no column '" + std::string(name) + "' in the header",
                 fmt::format("{}", fmt::join(header_, ",")));
    }
  }
  return {};
}

Status TextTable::check_names(std::span<const std::string_view> known) const {
  for (const std::string& name : header_) {
    const std::string near = nearest_name(name, known);
    if (!near.empty() && std::find(known.begin(), known.end(), name) == known.end()) {
      return bad(fmt::format("did you mean the column '{}' by", near), name);
    }
  }
  return {};
}

Result<bool> TextTable::next() {
  while (at_ < content_.size()) {
    const std::string_view line = take_line();
    if (line.empty()) {
      continue;
    }
    RUDDER_ASSIGN(fields_, split(line));
    if (fields_.size() != header_.size()) {
      return bad(fmt::format("{} fields under a header of {}:", fields_.size(), header_.size()), line);
    }
    return true;
  }
  return false;
}

std::string_view TextTable::text(std::string_view name) const noexcept {
  const auto at = column(name);
  return at ? std::string_view(fields_[*at]) : std::string_view{};
}

Result<double> TextTable::real(std::string_view name, double low, double high,
                               std::optional<double> missing) const {
  const std::string_view field = text(name);
  if (field.empty() && missing) {
    return *missing;
  }
  const auto value = parse_double(field);
  if (!value || *value < low || *value > high) {
    return bad(fmt::format("{} is not a number in {}..{}:", name, low, high), field);
  }
  return *value;
}

Result<std::int64_t> TextTable::integer(std::string_view name, std::int64_t low, std::int64_t high,
                                        std::optional<std::int64_t> missing) const {
  const std::string_view field = text(name);
  if (field.empty() && missing) {
    return *missing;
  }
  const auto value = parse_double(field);
  if (!value || *value != std::floor(*value) || *value < static_cast<double>(low) ||
      *value > static_cast<double>(high)) {
    return bad(fmt::format("{} is not a whole number in {}..{}:", name, low, high), field);
  }
  return static_cast<std::int64_t>(*value);
}

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
#include "rudder/report/table.h"

#include <algorithm>

#include "rudder/core/check.h"

namespace rudder::report {
namespace {

/// Code points: every byte that does not continue one.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  RUDDER_CHECK(cells.size() == header_.size(), "a table row needs a cell for each column");
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t widest = width(header_[column]);
    for (const auto& row : rows_) {
      widest = std::max(widest, width(row[column]));
    }
    widths.push_back(widest);
  }
  std::string out;
  const auto append = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - width(row[column]), ' ');
      line += column == 0 ? row[column] + padding : "  " + padding + row[column];
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  append(header_);
  for (const auto& row : rows_) {
    append(row);
  }
  return out;
}

}  // namespace rudder::report

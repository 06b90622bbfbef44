// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace rudder::report {

/// A table for a terminal: columns padded to their widest cell; the first column left-aligned, the others
/// right-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : header_(std::move(header)) {}
  /// As many cells as the header has.
  void add(std::vector<std::string> cells);
  /// Lines end with a line break; no trailing blanks. Widths count UTF-8 code points.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rudder::report

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

struct gzFile_s;

namespace rudder::graph {

/// Streams the lines of a text file, plain or gzip (told apart by content). Memory: one buffer of at least
/// `max_line` bytes. Movable.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  /// A line longer than `max_line` is an error.
  [[nodiscard]] static Result<LineReader> open(const std::filesystem::path& path,
                                               std::size_t max_line = kMaxLine);

  /// The next line without its end ("\n" or "\r\n"), valid until the next call. False at the end and after an
  /// error: see status().
  [[nodiscard]] bool next(std::string_view& line);

  [[nodiscard]] const Status& status() const noexcept { return status_; }
  /// Number of the line that next() returned last, from 1.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  /// An error that names the file, the number of the current line and its text.
  [[nodiscard]] Error error_at(std::string_view line, std::string_view what) const;

 private:
  struct Close {
    void operator()(gzFile_s* file) const noexcept;
  };

  LineReader() = default;
  /// Moves the unread rest to the front and reads more. False when nothing came.
  bool refill();
  /// Fails on the line after the current one; false.
  bool too_long();

  std::unique_ptr<gzFile_s, Close> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  ///< the unread part of the buffer
  std::size_t end_ = 0;
  std::size_t max_line_ = 0;
  std::size_t number_ = 0;
  std::string where_;
  Status status_;
};

}  // namespace rudder::graph

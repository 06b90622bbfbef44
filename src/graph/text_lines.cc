// SPDX-License-Identifier: Apache-2.0
#include "graph/text_lines.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <zlib.h>

#include "graph/import_common.h"

namespace rudder::graph {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

}  // namespace

void LineReader::Close::operator()(gzFile_s* file) const noexcept {
  gzclose_r(file);
}

Result<LineReader> LineReader::open(const std::filesystem::path& path, std::size_t max_line) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) {
    return Error{Errc::kNotFound, path.string() + ": no such file"};
  }
  if (kind != std::filesystem::file_type::regular) {
    return invalid(path.string(), "not a regular file");
  }
  LineReader reader;
  errno = 0;
  reader.file_.reset(gzopen(path.c_str(), "rb"));
  if (!reader.file_) {
    return Error{errno != 0 ? Errc::kIo : Errc::kResource,
                 fmt::format("{}: cannot open: {}", path.string(),
                             errno != 0 ? std::generic_category().message(errno) : "out of memory")};
  }
  gzbuffer(reader.file_.get(), 1U << 18);
  reader.max_line_ = max_line;
  reader.where_ = path.string();
  reader.buffer_.resize(max_line + kChunk);
  return reader;
}

bool LineReader::refill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const int got = gzread(file_.get(), buffer_.data() + end_, static_cast<unsigned>(kChunk));
  int code = Z_OK;
  const char* message = gzerror(file_.get(), &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    status_ = code == Z_BUF_ERROR ? invalid(where_, "the gzip data ends too early")
              : code == Z_ERRNO   ? Error{Errc::kIo, fmt::format("{}: cannot read", where_)}
                                  : invalid(where_, fmt::format("damaged gzip data: {}", message));
    return false;
  }
  end_ += static_cast<std::size_t>(got);
  return got > 0;
}

bool LineReader::next(std::string_view& line) {
  if (!status_.ok()) {
    return false;
  }
  std::size_t searched = 0;
  while (true) {
    const char* start = buffer_.data() + begin_;
    const auto* newline =
        static_cast<const char*>(std::memchr(start + searched, '\n', end_ - begin_ - searched));
    if (newline != nullptr) {
      line = std::string_view(start, static_cast<std::size_t>(newline - start));
      begin_ += line.size() + 1;
      break;
    }
    searched = end_ - begin_;
    if (searched > max_line_) {
      return too_long();
    }
    if (!refill()) {
      if (!status_.ok() || begin_ == end_) {
        return false;
      }
      line = std::string_view(buffer_.data() + begin_, end_ - begin_);
      begin_ = end_;
      break;
    }
  }
  if (line.size() > max_line_) {
    return too_long();
  }
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  ++number_;
  return true;
}

bool LineReader::too_long() {
  status_ = invalid(where_, fmt::format("line {} is longer than {} bytes", number_ + 1, max_line_));
  return false;
}

Error LineReader::error_at(std::string_view line, std::string_view what) const {
  return invalid(where_, fmt::format("line {}: {}: '{}'", number_, what, shown(line)));
}

}  // namespace rudder::graph

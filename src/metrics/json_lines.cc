// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/json_lines.h"

#include <fmt/format.h>

#include "rudder/core/check.h"

namespace rudder::metrics {

Result<JsonLines> JsonLines::open(const std::filesystem::path& path, bool append) {
  JsonLines lines;
  lines.path_ = path;
  lines.file_.open(path, (append ? std::ios::app : std::ios::trunc) | std::ios::out | std::ios::binary);
  if (!lines.file_) {
    return Error{Errc::kIo, fmt::format("{}: cannot open for writing", path.string())};
  }
  return lines;
}

Status JsonLines::write(std::string_view object) {
  RUDDER_CHECK(object.find('\n') == std::string_view::npos, "a JSON line holds no line break");
  file_ << object << '\n' << std::flush;
  if (!file_) {
    return Error{Errc::kIo, fmt::format("{}: cannot write", path_.string())};
  }
  return {};
}

}  // namespace rudder::metrics

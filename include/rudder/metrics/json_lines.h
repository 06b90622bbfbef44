// SPDX-License-Identifier: Apache-2.0
// `metrics.jsonl`: one JSON object a line, flushed line by line, so that a crash leaves every finished line
// readable.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "rudder/core/result.h"

namespace rudder::metrics {

class JsonLines {
 public:
  /// Begins `path` anew, or goes on behind what it holds (created when absent).
  [[nodiscard]] static Result<JsonLines> open(const std::filesystem::path& path, bool append);
  /// `object` is one serialised JSON object without line breaks.
  [[nodiscard]] Status write(std::string_view object);

 private:
  std::ofstream file_;
  std::filesystem::path path_;
};

}  // namespace rudder::metrics

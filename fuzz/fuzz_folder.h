// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include "rudder/core/check.h"

namespace rudder::fuzz {

/// A folder in memory (tmpfs), removed when the process exits, for readers that take several files.
class Folder {
 public:
  Folder() {
    std::string name = "/dev/shm/rudder-fuzz-XXXXXX";
    RUDDER_CHECK(::mkdtemp(name.data()) != nullptr, "a folder in memory");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Cuts the text at each kCut and writes one file a piece, the last ones empty when pieces are missing.
  void write_sections(std::string_view text, std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const std::size_t end = std::min(text.find(kCut), text.size());
      std::ofstream(path_ / name, std::ios::binary) << text.substr(0, end);
      text.remove_prefix(std::min(end + kCut.size(), text.size()));
    }
  }

 private:
  static constexpr std::string_view kCut = "\n%%%\n";
  std::filesystem::path path_;
};

}  // namespace rudder::fuzz

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "rudder/core/result.h"
#include "rudder/graph/npy.h"

struct zip;

namespace rudder::graph {

/// A NumPy `.npz`: a zip of `.npy` entries, stored or deflated, zip64 included. Entries are unpacked on
/// demand; all of them together may unpack to `memory_limit` bytes, counted while they unpack and not only as
/// the directory declares. Movable, not thread-safe.
class NpzFile {
 public:
  [[nodiscard]] static Result<NpzFile> open(const std::filesystem::path& path, std::size_t memory_limit);

  /// Names are without ".npy".
  [[nodiscard]] bool has(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  /// The names, sorted, for messages.
  [[nodiscard]] std::string names() const;
  [[nodiscard]] Result<NpyArray> read(std::string_view name);
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  struct Close {
    void operator()(zip* archive) const noexcept;
  };

  NpzFile() = default;
  Status list_entries();

  std::unique_ptr<zip, Close> archive_;
  std::map<std::string, std::uint64_t, std::less<>> entries_;  ///< name → index in the archive
  std::size_t limit_ = 0;
  std::size_t left_ = 0;
  std::string where_;
};

}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
// Files: read-only mappings, and writes that are either complete or absent.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/interrupt.h"
#include "rudder/core/result.h"

namespace rudder {

/// A whole file mapped read-only. Movable. An empty file maps to an empty span. The file must not shrink
/// while mapped (all files of this project are replaced by rename, never truncated in place).
class MappedFile {
 public:
  MappedFile() = default;
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  /// Says that the file will be read here and there: nothing is read ahead any more.
  void advise_random() const noexcept;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Writes to `PATH.tmp.PID.N`, then fsync and rename on commit(). Without commit() the temporary file is
/// removed, also when a signal ends the program.
class AtomicFile {
 public:
  [[nodiscard]] static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Appends; buffered (1 MiB).
  [[nodiscard]] Status write(std::span<const std::byte> bytes);
  [[nodiscard]] Status write(std::string_view text);
  /// Overwrites bytes already written (for headers with counts); flushes first.
  [[nodiscard]] Status write_at(std::size_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] Status commit();

 private:
  AtomicFile() = default;
  [[nodiscard]] Status flush();

  std::filesystem::path path_;
  PendingPath temporary_;
  std::string buffer_;
  int fd_ = -1;
};

/// Reads a file of at most `limit` bytes.
[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& path,
                                            std::size_t limit = std::size_t{64} << 20);
/// Writes a whole file atomically.
[[nodiscard]] Status write_text(const std::filesystem::path& path, std::string_view text);
/// mkdir -p.
[[nodiscard]] Status make_directories(const std::filesystem::path& path);

/// A new empty directory under the system's temporary directory, removed with its contents by the destructor
/// and when a signal ends the program.
class TemporaryDirectory {
 public:
  [[nodiscard]] static Result<TemporaryDirectory> create(std::string_view prefix);
  TemporaryDirectory(TemporaryDirectory&&) noexcept = default;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return pending_.path(); }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : pending_(std::move(path)) {}
  PendingPath pending_;
};

}  // namespace rudder

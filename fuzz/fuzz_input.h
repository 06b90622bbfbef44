// SPDX-License-Identifier: Apache-2.0
// What every fuzz target needs: values cut from libFuzzer's bytes, and files that never touch a disk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rudder/core/check.h"

namespace rudder::fuzz {

/// Takes values from the front; past the end they are zero or empty.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(std::as_bytes(std::span(data, size))) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  /// Little-endian, of at most 8 bytes.
  std::uint64_t integer(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes && !left_.empty(); ++i, left_ = left_.subspan(1)) {
      value |= std::to_integer<std::uint64_t>(left_.front()) << (8 * i);
    }
    return value;
  }
  std::uint64_t below(std::uint64_t limit) { return integer(1) % limit; }
  std::span<const std::byte> bytes(std::size_t count) {
    const auto front = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(front.size());
    return front;
  }
  std::span<const std::byte> rest() { return bytes(left_.size()); }
  std::string_view text() {
    const auto all = rest();
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }

 private:
  std::span<const std::byte> left_;
};

/// A file in memory with a path, for readers that take nothing else.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    RUDDER_CHECK(fd_ >= 0, "memfd_create");
    while (!content.empty()) {
      const ssize_t written = ::write(fd_, content.data(), content.size());
      RUDDER_CHECK(written > 0, "writes to memory do not fail");
      content = content.subspan(static_cast<std::size_t>(written));
    }
  }
  explicit MemoryFile(std::string_view content) : MemoryFile(std::as_bytes(std::span(content))) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }

  [[nodiscard]] std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_;
};

/// Bytes that a single input may make a reader keep.
inline constexpr std::size_t kMemoryLimit = std::size_t{32} << 20;

}  // namespace rudder::fuzz

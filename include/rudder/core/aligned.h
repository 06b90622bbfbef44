// SPDX-License-Identifier: Apache-2.0
// Owned memory for rows: 64-byte aligned, uninitialised, movable.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

namespace rudder {

/// A block of bytes aligned to a cache line, from 2 MiB on to huge pages, which it asks for. Contents start
/// uninitialised. Throws std::bad_alloc, but in allocate().
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t size);
  /// Nothing when the memory is not to be had.
  [[nodiscard]] static std::optional<AlignedBytes> allocate(std::size_t size);

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_.get(), size_}; }

  /// Makes size() at least `size`; keeps nothing of the old contents when it must grow.
  void ensure(std::size_t size);

 private:
  struct Free {
    void operator()(std::byte* pointer) const noexcept { std::free(pointer); }
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace rudder

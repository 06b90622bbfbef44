// SPDX-License-Identifier: Apache-2.0
// Where the rows of a buffer lie: in this process's own memory, or in memory that other processes may read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::dataplane {

/// Memory for rows, aligned to a cache line at least. Given back on destruction.
class RowBlock {
 public:
  RowBlock() = default;
  RowBlock(const RowBlock&) = delete;
  RowBlock& operator=(const RowBlock&) = delete;
  virtual ~RowBlock() = default;

  [[nodiscard]] virtual std::byte* data() noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// Unique among the blocks of one RowMemory.
  [[nodiscard]] virtual std::uint64_t id() const noexcept = 0;
  /// A descriptor of this memory that another process can map, for reading only; -1 when there is none. The
  /// block's own.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
};

/// Makes blocks. Thread-safe.
class RowMemory {
 public:
  RowMemory() = default;
  RowMemory(const RowMemory&) = delete;
  RowMemory& operator=(const RowMemory&) = delete;
  virtual ~RowMemory() = default;

  /// `size` bytes of any contents; kResource when they are not to be had.
  [[nodiscard]] virtual Result<std::shared_ptr<RowBlock>> allocate(std::size_t size) = 0;
};

/// Private memory, in huge pages where they help.
[[nodiscard]] std::unique_ptr<RowMemory> private_row_memory();
/// Anonymous shared memory (memfd), reserved on allocation, so that a full machine is an error here and no
/// SIGBUS later. Sealed: nobody can shrink or grow it, and no mapping but this process's can be written. It
/// goes with the last process that has it open or mapped, so nothing is left behind by one that dies.
[[nodiscard]] std::unique_ptr<RowMemory> shared_row_memory();

/// A read-only view of a block that another process made.
class MappedRows {
 public:
  /// Maps `size` bytes of `descriptor`, which stays the caller's. An error unless it is sealed against
  /// shrinking and as large.
  [[nodiscard]] static Result<std::unique_ptr<MappedRows>> map(int descriptor, std::size_t size);
  ~MappedRows();
  MappedRows(const MappedRows&) = delete;
  MappedRows& operator=(const MappedRows&) = delete;

  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  MappedRows(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  std::size_t size_;
};

}  // namespace rudder::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/aligned.h"

#include <new>
#include <utility>

#include <sys/mman.h>

namespace rudder {
namespace {
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}  // namespace

AlignedBytes::AlignedBytes(std::size_t size) {
  auto block = allocate(size);
  if (!block) {
    throw std::bad_alloc();
  }
  *this = *std::move(block);
}

std::optional<AlignedBytes> AlignedBytes::allocate(std::size_t size) {
  AlignedBytes block;
  if (size == 0) {
    return block;
  }
  // Rows are read at random: with small pages nearly each read of a large block would also miss the TLB.
  const std::size_t alignment = size >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  block.data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (block.data_ == nullptr) {
    return std::nullopt;
  }
  block.size_ = size;
  if (alignment == kHugePage) {
    ::madvise(block.data_.get(), rounded, MADV_HUGEPAGE);  // a hint; systems without huge pages refuse it
  }
  return block;
}

void AlignedBytes::ensure(std::size_t size) {
  if (size > size_) {
    *this = AlignedBytes(size);
  }
}

}  // namespace rudder

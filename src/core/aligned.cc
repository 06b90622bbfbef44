// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/aligned.h"

#include <new>

#include <sys/mman.h>

namespace rudder {
namespace {
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}  // namespace

AlignedBytes::AlignedBytes(std::size_t size) : size_(size) {
  if (size == 0) {
    return;
  }
  // Rows are read at random: with small pages nearly each read of a large block would also miss the TLB.
  const std::size_t alignment = size >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (data_ == nullptr) {
    throw std::bad_alloc();
  }
  if (alignment == kHugePage) {
    ::madvise(data_.get(), rounded, MADV_HUGEPAGE);  // a hint; systems without huge pages refuse it
  }
}

void AlignedBytes::ensure(std::size_t size) {
  if (size > size_) {
    *this = AlignedBytes(size);
  }
}

}  // namespace rudder

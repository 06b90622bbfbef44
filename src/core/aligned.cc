// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/aligned.h"

#include "rudder/core/check.h"

namespace rudder {
namespace {
constexpr std::size_t kAlignment = 64;
}

AlignedBytes::AlignedBytes(std::size_t size) : size_(size) {
  if (size == 0) {
    return;
  }
  const std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
  RUDDER_CHECK(data_ != nullptr, "out of memory");
}

void AlignedBytes::ensure(std::size_t size) {
  if (size > size_) {
    *this = AlignedBytes(size);
  }
}

}  // namespace rudder

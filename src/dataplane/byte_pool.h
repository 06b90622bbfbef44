// SPDX-License-Identifier: Apache-2.0
// Memory of messages and rows, used again instead of freed.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "rudder/core/aligned.h"

namespace rudder::dataplane {

/// A stack of byte blocks. Thread-safe. Blocks grow to the largest size asked for, so a pool serves blocks of
/// similar sizes.
class BytePool {
 public:
  /// Keeps at most `keep` blocks while they are not in use.
  explicit BytePool(std::size_t keep) : keep_(keep) { free_.reserve(keep); }

  /// At least `size` bytes with any contents.
  [[nodiscard]] AlignedBytes take(std::size_t size) {
    AlignedBytes block;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        block = std::move(free_.back());
        free_.pop_back();
      }
    }
    block.ensure((size + kGranule - 1) / kGranule * kGranule);
    return block;
  }

  void give(AlignedBytes block) {
    const std::lock_guard lock(mutex_);
    if (block.data() != nullptr && free_.size() < keep_) {
      free_.push_back(std::move(block));
    }
  }

 private:
  /// Sizes are rounded up to this, so that batches of slightly different sizes share blocks.
  static constexpr std::size_t kGranule = 4096;

  const std::size_t keep_;
  std::mutex mutex_;
  std::vector<AlignedBytes> free_;
};

/// The pools of one plane.
struct Pools {
  BytePool small{256};  ///< ids, reasons, greetings
  BytePool rows{64};    ///< answers
};

}  // namespace rudder::dataplane

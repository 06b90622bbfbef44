// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "rudder/core/clock.h"

namespace rudder::transport {

/// A link's rate as debt: take(n) says when n bytes will have passed. Not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double bytes_per_second, std::size_t burst_bytes, TimePoint now);
  /// Takes n tokens and returns the time at which they are paid for (now, when the bucket holds enough). Any
  /// n passes: the bucket goes into debt, so that messages larger than the burst are delayed, not refused.
  [[nodiscard]] TimePoint take(std::size_t bytes, TimePoint now);

 private:
  double rate_;
  double burst_;
  double tokens_;
  TimePoint last_;
};

}  // namespace rudder::transport

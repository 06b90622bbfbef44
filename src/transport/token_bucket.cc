// SPDX-License-Identifier: Apache-2.0
#include "rudder/transport/token_bucket.h"

#include <algorithm>

#include "rudder/core/check.h"

namespace rudder::transport {

TokenBucket::TokenBucket(double bytes_per_second, std::size_t burst_bytes, TimePoint now)
    : rate_(bytes_per_second),
      burst_(static_cast<double>(burst_bytes)),
      tokens_(static_cast<double>(burst_bytes)),
      last_(now) {
  RUDDER_CHECK(bytes_per_second > 0, "a token bucket needs a positive rate");
}

TimePoint TokenBucket::take(std::size_t bytes, TimePoint now) {
  if (now > last_) {
    tokens_ = std::min(burst_, tokens_ + to_seconds(now - last_) * rate_);
    last_ = now;
  }
  tokens_ -= static_cast<double>(bytes);
  return tokens_ >= 0 ? now : std::max(now, last_ + from_seconds(-tokens_ / rate_));
}

}  // namespace rudder::transport

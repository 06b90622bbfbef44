// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "rudder/core/clock.h"
#include "rudder/llm/model.h"

namespace rudder::llm {

struct RetryOptions {
  Duration first = from_seconds(0.2);  ///< before the second try; doubles from try to try
  Duration most = from_seconds(5);
  std::uint64_t seed = 1;  ///< of the jitter: each wait is between half and all of its length
};

/// Tries again after kPeer errors, as long as the call's timeout leaves time for the wait and a try. Other
/// errors, and the last one, are returned; that says how many tries there were. stop() ends waits within 50
/// ms. `clock` must outlive it.
[[nodiscard]] std::unique_ptr<Model> with_retries(std::unique_ptr<Model> model, const RetryOptions& options,
                                                  Clock& clock = steady_clock());

}  // namespace rudder::llm

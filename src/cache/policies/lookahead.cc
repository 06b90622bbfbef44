// SPDX-License-Identifier: Apache-2.0
#include "cache/bounded_min.h"

namespace rudder::cache {
namespace {

/// Distinct rows in the window per slot. Looking further ahead buys nothing: on a synthetic trace whose
/// batches are several buffers large, 3 fetched 1.024 times the rows of MIN, 4 the same as MIN.
constexpr std::size_t kWindowFactor = 4;

}  // namespace

PolicyInfo lookahead_policy() {
  return {
      .name = "lookahead",
      .help = "keeps the rows whose next use is nearest in the next batches (default)",
      .needs_vip = true,
      .does_without_vip = true,
      .adopts = true,
      .make = [](const PolicyContext& context, const PolicySettings& settings) -> std::unique_ptr<Policy> {
        return make_bounded_min(context, settings.max_lookahead, kWindowFactor * context.capacity);
      }};
}

}  // namespace rudder::cache

// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/guard.h"

namespace rudder::steer {

DecisionCache::DecisionCache(double threshold, std::uint64_t expiry, std::size_t size)
    : threshold_(threshold), expiry_(expiry), size_(size) {}

const Decision* DecisionCache::find(const Features& features, std::uint64_t sequence) const {
  const Decision* found = nullptr;
  double nearest = threshold_;
  for (const Entry& entry : entries_) {  // oldest first
    const std::uint64_t made = entry.decision.sequence;
    if (made > sequence || sequence - made > expiry_) {
      continue;
    }
    if (const double near = similarity(features, entry.features); near >= nearest) {
      nearest = near;
      found = &entry.decision;
    }
  }
  saved_ += found == nullptr ? 0 : 1;
  return found;
}

void DecisionCache::put(const Features& features, const Decision& decision) {
  if (size_ == 0) {
    return;
  }
  if (entries_.size() == size_) {
    entries_.pop_front();
  }
  entries_.push_back({features, decision});
}

void DecisionCache::clear() {
  entries_.clear();
}

}  // namespace rudder::steer

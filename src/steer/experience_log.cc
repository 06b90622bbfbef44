// SPDX-License-Identifier: Apache-2.0
#include "steer/experience_log.h"

#include <algorithm>
#include <utility>

namespace rudder::steer {

void ExperienceLog::window_ended(const Window& window, Experience experience) {
  std::deque<Entry> waiting;
  for (Entry& entry : entries_) {
    if (entry.waits) {
      waiting.push_back(std::move(entry));
      continue;
    }
    if (entry.left > 0) {
      --entry.left;
      entry.border = window;
      waiting.push_back(std::move(entry));
      continue;
    }
    entry.experience.observed = effect_of(entry.border, window);
    if (entry.let_through && entry.experience.decision->expected) {
      ++totals_.predictions;
      totals_.right_directions += entry.experience.decision->expected == entry.experience.observed ? 1U : 0U;
    }
    remember(entry.experience);
  }
  entries_ = std::move(waiting);
  entries_.push_back({std::move(experience), window, false, false, 0});
  newest_ = window;
}

void ExperienceLog::await() {
  entries_.back().waits = true;
}

void ExperienceLog::settled(std::uint64_t sequence, const Decision* decision, bool let_through) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return each.waits && each.experience.sequence == sequence;
  });
  if (entry == entries_.end()) {
    return;  // given up before
  }
  entry->waits = false;
  entry->border = *newest_;
  entry->let_through = let_through;
  entry->left = lag_;
  if (decision != nullptr) {
    entry->experience.decision = *decision;
  }
}

void ExperienceLog::finish() {
  for (const Entry& entry : entries_) {
    remember(entry.experience);
  }
  entries_.clear();
}

void ExperienceLog::remember(const Experience& experience) {
  if (memory_ == nullptr) {
    return;
  }
  if (const Status status = memory_->add(experience); !status.ok() && totals_.errors++ == 0) {
    totals_.first_error = status.error().message;
  }
}

}  // namespace rudder::steer

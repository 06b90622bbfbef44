// SPDX-License-Identifier: Apache-2.0
#include "cache/policies/score.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "rudder/cache/score_settings.h"
#include "rudder/core/check.h"
#include "rudder/core/rng.h"
#include "rudder/core/text.h"

#include "cache/top_rows.h"

namespace rudder::cache {
namespace {

constexpr std::array<std::string_view, 3> kInitModes = {"empty", "degree", "random"};
constexpr std::uint64_t kRandomInit = 0x73636f7265;  // keeps this stream apart from others of the run's seed

/// The first `limit` of `items` by `before`, in that order; the others are dropped. O(n + limit log limit).
template <class T, class Before>
void keep_first(std::vector<T>& items, std::size_t limit, const Before& before) {
  if (items.size() > limit) {
    std::nth_element(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(limit), items.end(), before);
    items.resize(limit);
  }
  std::sort(items.begin(), items.end(), before);
}

}  // namespace

Status check_score_settings(const PolicySettings& settings) {
  if (settings.score_period < 1) {
    return Error{Errc::kInvalidArgument, "score: the period must be at least 1 batch"};
  }
  if (settings.score_stale_after < 1) {
    return Error{Errc::kInvalidArgument, "score: stale-after must be at least 1 batch"};
  }
  if (!(settings.score_alpha > 0.0 && settings.score_alpha < 1.0)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("score: alpha must lie between 0 and 1, not {}", settings.score_alpha)};
  }
  if (std::ranges::find(kInitModes, settings.score_init) == kInitModes.end()) {
    const std::string near = nearest_name(settings.score_init, kInitModes);
    return Error{Errc::kInvalidArgument,
                 fmt::format("score: unknown init '{}' ({})", settings.score_init,
                             near.empty() ? "known: empty, degree, random" : "did you mean '" + near + "'?")};
  }
  return {};
}

ScoreRules ScoreRules::published() {
  ScoreRules rules;
  rules.exact_staleness = false;
  rules.lowest_first = false;
  rules.cool_down = false;
  rules.age_misses = false;
  rules.always_score = false;
  rules.all_rows = false;
  rules.fill_free_slots = false;
  rules.bounded_extras = false;
  return rules;
}

ScorePolicy::ScorePolicy(const PolicyContext& context, const PolicySettings& settings,
                         const ScoreRules& rules)
    : context_(context),
      settings_(settings),
      rules_(rules),
      gamma_(1.0 - settings.score_alpha),
      residents_(context.capacity) {
  RUDDER_CHECK(check_score_settings(settings).ok(), "score settings were not checked");
  for (std::size_t i = 0; i < powers_.size(); ++i) {
    powers_[i] = std::pow(gamma_, static_cast<double>(i));
  }
  stale_below_ = power(settings.score_stale_after);
  if (!rules_.exact_staleness) {
    stale_below_ = std::round(stale_below_ * 1000.0) / 1000.0;
  }
  for (Resident& resident : residents_) {
    resident.unhit_limit = settings_.score_stale_after;
  }
}

void ScorePolicy::start(Residency& buffer) {
  for (const NodeId row : initial_rows()) {
    buffer.place(buffer.free_slot(), row);
  }
}

std::vector<NodeId> ScorePolicy::initial_rows() const {
  if (settings_.score_init == "degree") {
    std::vector<Scored<EdgeIndex>> rows;
    for (const NodeId row : context_.halo) {
      rows.push_back({degree_of(context_, row), row});
    }
    return top_rows(std::move(rows), context_.capacity);
  }
  std::vector<NodeId> rows;
  if (settings_.score_init == "random") {
    rows.assign(context_.halo.begin(), context_.halo.end());
    const std::size_t count = std::min<std::size_t>(rows.size(), context_.capacity);
    CounterRng rng({context_.seed, kRandomInit});
    for (std::size_t i = 0; i < count; ++i) {
      std::swap(rows[i], rows[i + static_cast<std::size_t>(rng.below(rows.size() - i))]);
    }
    rows.resize(count);
    std::sort(rows.begin(), rows.end());
  }
  return rows;
}

bool ScorePolicy::counts(NodeId row) const {
  return rules_.all_rows || std::binary_search(context_.halo.begin(), context_.halo.end(), row);
}

double ScorePolicy::power(StepId exponent) const {
  return exponent < powers_.size() ? powers_[exponent] : std::pow(gamma_, static_cast<double>(exponent));
}

StepId ScorePolicy::unhit(const Resident& resident) const {
  return served_ - resident.since - resident.hits;
}

double ScorePolicy::stale_score(SlotId slot) const {
  return residents_[slot].initial * power(unhit(residents_[slot]));
}

bool ScorePolicy::is_stale(SlotId slot) const {
  return rules_.exact_staleness ? unhit(residents_[slot]) >= residents_[slot].unhit_limit
                                : stale_score(slot) < stale_below_;
}

double ScorePolicy::aged(const Candidate& candidate) const {
  return rules_.age_misses ? candidate.score * power(served_ - candidate.as_of) : candidate.score;
}

void ScorePolicy::adopt(const Residency& buffer) {
  for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
    enter(slot, 1.0);
  }
}

void ScorePolicy::insert(Residency& buffer, SlotId slot, NodeId row, double score) {
  buffer.place(slot, row);
  enter(slot, score);
}

/// The slot's row has just come in.
void ScorePolicy::enter(SlotId slot, double score) {
  Resident& resident = residents_[slot];
  resident.initial = score;
  resident.since = served_;
  resident.hits = 0;
  // score * gamma^u <= gamma^stale_after from u = stale_after + ln(score) / -ln(gamma) on.
  const double bonus = std::ceil(std::log(score) / -std::log(gamma_));
  resident.unhit_limit =
      static_cast<StepId>(std::max(1.0, static_cast<double>(settings_.score_stale_after) + bonus));
}

void ScorePolicy::put_candidate(const Candidate& candidate) {
  const SlotId place = candidate_index_.find(candidate.row);
  if (place != kNoSlot) {
    candidates_[place] = candidate;
    return;
  }
  if (candidates_.size() == candidate_index_.capacity()) {
    candidate_index_.grow(2 * candidates_.size() + 64);
  }
  candidate_index_.insert(candidate.row, narrow<SlotId>(candidates_.size()));
  candidates_.push_back(candidate);
}

void ScorePolicy::remove_candidate(NodeId row) {
  const SlotId place = candidate_index_.find(row);
  if (place == kNoSlot) {
    return;
  }
  candidate_index_.erase(row);
  if (place + 1 != candidates_.size()) {
    candidates_[place] = candidates_.back();
    candidate_index_.exchange(candidates_[place].row, place);
  }
  candidates_.pop_back();
}

void ScorePolicy::score_misses(const Request& request, Residency& buffer) {
  missed_.clear();
  for (std::size_t i = 0; i < request.rows.size(); ++i) {
    const NodeId row = request.rows[i];
    if (request.slots[i] != kNoSlot || !counts(row)) {
      continue;
    }
    if (rules_.fill_free_slots && !buffer.full()) {
      const SlotId place = candidate_index_.find(row);
      const double score = place == kNoSlot ? 1.0 : aged(candidates_[place]) + 1.0;
      remove_candidate(row);
      insert(buffer, buffer.free_slot(), row, score);
    } else {
      missed_.push_back(row);
    }
  }
  places_.resize(missed_.size());
  candidate_index_.find_many(missed_, places_);
  for (std::size_t i = 0; i < missed_.size(); ++i) {
    if (places_[i] == kNoSlot) {
      put_candidate({missed_[i], 1.0, served_});
    } else {
      Candidate& candidate = candidates_[places_[i]];
      candidate.score = aged(candidate) + 1.0;
      candidate.as_of = served_;
    }
  }
}

/// Stale slots, those to replace first in front.
std::vector<SlotId> ScorePolicy::victims(const Residency& buffer) const {
  std::vector<std::pair<double, SlotId>> stale;
  for (SlotId slot = 0; slot < buffer.capacity(); ++slot) {
    if (is_stale(slot)) {
      // The published buffer is sorted by id; its free slots hold ids above all nodes.
      const NodeId row = buffer.row_at(slot);
      const double id = row == kNoNode ? HUGE_VAL : static_cast<double>(row);
      stale.emplace_back(rules_.lowest_first ? stale_score(slot) : id, slot);
    }
  }
  std::sort(stale.begin(), stale.end());
  std::vector<SlotId> slots(stale.size());
  std::transform(stale.begin(), stale.end(), slots.begin(), [](const auto& entry) { return entry.second; });
  return slots;
}

/// Up to `limit` candidates, the highest scores first, and forgets those that are too old.
std::vector<ScorePolicy::Candidate> ScorePolicy::newcomers(std::size_t limit, std::size_t misses) {
  std::vector<Candidate> missed_now;
  std::vector<Candidate> extras;
  std::vector<NodeId> forgotten;
  for (const Candidate& candidate : candidates_) {
    const double score = aged(candidate);
    if (rules_.age_misses && score <= stale_below_) {
      forgotten.push_back(candidate.row);
    } else if (score > 0.0) {
      (candidate.as_of == served_ ? missed_now : extras).push_back({candidate.row, score, candidate.as_of});
    }
  }
  for (const NodeId row : forgotten) {
    remove_candidate(row);
  }
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  };
  keep_first(extras, rules_.bounded_extras ? misses : limit, better);
  missed_now.insert(missed_now.end(), extras.begin(), extras.end());
  keep_first(missed_now, limit, better);
  return missed_now;
}

bool ScorePolicy::replace(Residency& buffer, std::size_t misses) {
  const std::vector<SlotId> slots = victims(buffer);
  const std::vector<Candidate> rows = newcomers(slots.size(), misses);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NodeId evicted = buffer.row_at(slots[i]);
    const double leftover = stale_score(slots[i]);
    remove_candidate(rows[i].row);
    insert(buffer, slots[i], rows[i].row, rows[i].score);
    if (!rules_.cool_down && evicted != kNoNode) {
      put_candidate({evicted, leftover, served_});
    }
  }
  return !rows.empty();
}

void ScorePolicy::serve(const Request& request, Residency& buffer) {
  served_ = request.step + 1;
  std::size_t misses = 0;
  for (const SlotId slot : request.slots) {
    if (slot != kNoSlot) {
      ++residents_[slot].hits;
    } else {
      ++misses;
    }
  }
  const bool due = served_ % settings_.score_period == 0 || replace_once_;
  replace_once_ = false;
  if (rules_.always_score) {
    score_misses(request, buffer);
    if (due) {
      static_cast<void>(replace(buffer, misses));
    }
  } else if (!due || !replace(buffer, misses)) {
    score_misses(request, buffer);
  }
}

PolicyInfo score_policy() {
  PolicyInfo info;
  info.name = "score";
  info.help = "every few batches, rows not hit for long make room for those missed most";
  info.adopts = true;
  info.needs_degrees = true;  // for the first fill
  info.make = [](const PolicyContext& context, const PolicySettings& settings) -> std::unique_ptr<Policy> {
    return std::make_unique<ScorePolicy>(context, settings, ScoreRules());
  };
  return info;
}

}  // namespace rudder::cache

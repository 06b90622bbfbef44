// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "rudder/steer/window.h"

namespace rudder::steer {
namespace {

constexpr double kMaxRatio = 64;  ///< of figures that compare owners

/// part / whole, within [0, limit]; `none` when there is no whole, or one of them is no number.
double ratio(double part, double whole, double none, double limit = 1) {
  const double value = part / whole;
  return whole > 0 && std::isfinite(value) ? std::clamp(value, 0.0, limit) : none;
}
double ratio(std::uint64_t part, std::uint64_t whole, double none, double limit = 1) {
  return ratio(static_cast<double>(part), static_cast<double>(whole), none, limit);
}

std::uint64_t misses(const cache::Counts& counts) {
  return counts.requests - std::min(counts.hits, counts.requests);
}

double hit_rate(const Window& w) {
  return ratio(w.counts.hits, w.counts.requests, 1);
}
double fetched_per_request(const Window& w) {
  return ratio(w.counts.fetched, w.counts.requests, 0, kMaxRatio);
}
double extra_share(const Window& w) {
  return ratio(w.counts.fetched - std::min(misses(w.counts), w.counts.fetched), w.counts.fetched, 0);
}
double stall_share(const Window& w) {
  return ratio(w.stall_seconds, w.seconds, 0);
}
double all_reduce_share(const Window& w) {
  return ratio(w.all_reduce_seconds, w.seconds, 0);
}
double link_use(const Window& w) {
  return ratio(ratio(static_cast<double>(w.wire_bytes), w.seconds, 0, HUGE_VAL), w.link_bytes_per_second, 0);
}
double ready_share(const Window& w) {
  return ratio(static_cast<double>(w.ready), static_cast<double>(w.ready) + w.waiting, 1);
}
double stale_share(const Window& w) {
  return ratio(w.stale, w.resident, 0);
}
double fresh_share(const Window& w) {
  return ratio(w.fresh, w.counts.requests, 0);
}
double remaining(const Window& w) {
  return w.steps_total == 0 ? 1 : 1 - ratio(w.end, w.steps_total, 0);
}

/// Calls visit(load, owners it stands for) for all owners but this host: the last place stands for all
/// beyond.
template <class Visit>
void for_other_owners(const Window& w, Visit visit) {
  const std::size_t places = std::min<std::size_t>(w.owners, kMaxOwners);
  for (std::size_t i = 0; i < places; ++i) {
    if (i != w.self) {
      visit(w.owner[i], i + 1 == kMaxOwners ? static_cast<double>(w.owners) - (kMaxOwners - 1) : 1);
    }
  }
}

double owner_skew(const Window& w) {
  double most = 0;
  double rows = 0;
  double owners = 0;
  for_other_owners(w, [&](const OwnerLoad& load, double stands_for) {
    most = std::max(most, static_cast<double>(load.rows) / stands_for);
    rows += static_cast<double>(load.rows);
    owners += stands_for;
  });
  return ratio(most * owners, rows, 1, kMaxRatio);
}

double owner_delay(const Window& w) {
  std::array<double, kMaxOwners> delays;
  std::size_t count = 0;
  for_other_owners(w, [&](const OwnerLoad& load, double /*stands_for*/) {
    if (load.answers > 0 && std::isfinite(load.seconds)) {
      delays[count++] = load.seconds / static_cast<double>(load.answers);
    }
  });
  if (count < 2) {
    return 1;
  }
  std::sort(delays.begin(), delays.begin() + static_cast<std::ptrdiff_t>(count));
  // The lower median: of two owners, the faster one.
  return ratio(delays[count - 1], delays[(count - 1) / 2], 1, kMaxRatio);
}

// Bounds of shares stand where the advice changes: below 30 % hits the buffer holds the wrong rows, above 70
// % it holds the right ones; 3 % of stall is what a well-fed trainer has; the last 5 % of a run pay for no
// change. Margins are about twice the spread between windows of a run whose accesses do not change.
constexpr std::array<MetricInfo, kMetrics> kTable = {{
    {"hit_rate", "share of the requested remote rows that the buffer held", 0.3, 0.7, 0.03, hit_rate},
    {"fetched_per_request", "rows moved over the network for each remote row requested", 0.3, 0.8, 0.03,
     fetched_per_request},
    {"extra_share", "share of the fetched rows that no batch was waiting for", 0.1, 0.4, 0.02, extra_share},
    {"stall_share", "share of the time spent waiting for a batch", 0.03, 0.2, 0.01, stall_share},
    {"all_reduce_share", "share of the time spent averaging gradients", 0.1, 0.3, 0.02, all_reduce_share},
    {"link_use", "share of the link's measured rate that was used", 0.3, 0.8, 0.03, link_use},
    {"ready_share", "share of the batches in preparation that are ready", 0.2, 0.7, 0.05, ready_share},
    {"stale_share", "share of the buffer's rows that were not requested", 0.3, 0.7, 0.03, stale_share},
    {"fresh_share", "share of the requests for rows that the window before did not request", 0.2, 0.6, 0.03,
     fresh_share},
    {"owner_skew", "rows from the busiest owner relative to an even share", 1.3, 2, 0.1, owner_skew},
    {"owner_delay", "answer time of the slowest owner relative to the median one", 1.5, 3, 0.15, owner_delay},
    {"remaining", "share of the run still to come", 0.05, 0.5, 0.01, remaining},
}};
static_assert(kTable[kHitRate].value == hit_rate && kTable[kStallShare].value == stall_share &&
              kTable[kFreshShare].value == fresh_share && kTable[kOwnerSkew].value == owner_skew &&
              kTable[kRemaining].value == remaining && kRemaining + 1 == kMetrics);

double scaled(float value, const MetricInfo& metric) {
  constexpr double kFarthest = 4;
  const double middle = (metric.low + metric.high) / 2;
  const double place = (static_cast<double>(value) - middle) / (metric.high - middle);
  return std::isnan(place) ? 0 : std::clamp(place, -kFarthest, kFarthest);
}

}  // namespace

std::span<const MetricInfo> metric_table() {
  return kTable;
}

Features features_of(const Window& window) noexcept {
  Features features{};
  for (std::size_t i = 0; i < kMetrics; ++i) {
    features[i] = static_cast<float>(kTable[i].value(window));
  }
  return features;
}

double similarity(const Features& a, const Features& b) noexcept {
  double dot = 0;
  double square_a = 0;
  double square_b = 0;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const double x = scaled(a[i], kTable[i]);
    const double y = scaled(b[i], kTable[i]);
    dot += x * y;
    square_a += x * x;
    square_b += y * y;
  }
  if (square_a == 0 || square_b == 0) {
    return square_a == square_b ? 1 : 0;  // a vector at the very centre has no direction
  }
  return std::clamp(dot / std::sqrt(square_a * square_b), -1.0, 1.0);
}

}  // namespace rudder::steer

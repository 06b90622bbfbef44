// SPDX-License-Identifier: Apache-2.0
#include "rudder/report/service_view.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "rudder/core/check.h"
#include "rudder/core/text.h"

namespace rudder::report {
namespace {

using metrics::Page;
using metrics::Sample;

/// Ranks, as a label has them, and a value for each.
using ByRank = std::map<std::int64_t, double>;

ByRank by_rank(const Page& page, std::string_view name, std::string_view label) {
  ByRank values;
  for (const Sample& sample : page.of(name)) {
    if (const auto rank = parse_int(sample.label(label))) {
      values[*rank] += sample.value;
    }
  }
  return values;
}

double at(const ByRank& values, std::int64_t rank) {
  const auto found = values.find(rank);
  return found == values.end() ? 0 : found->second;
}

/// Not a number counts as none.
double grown(double before, double now) {
  return now > before ? now - before : 0;
}

struct Bucket {
  double bound = 0;  ///< infinite for the last one
  double count = 0;  ///< values up to the bound
};

/// The buckets of a histogram by a label's rank, ascending, with the values taken between two pages.
std::map<std::int64_t, std::vector<Bucket>> buckets_between(const Page& before, const Page& now,
                                                            std::string_view name, std::string_view label) {
  const auto key = [&](const Sample& sample) -> std::optional<std::pair<std::int64_t, double>> {
    const auto rank = parse_int(sample.label(label));
    const std::string_view le = sample.label("le");
    const auto bound =
        le == "+Inf" ? std::optional(std::numeric_limits<double>::infinity()) : parse_double(le);
    return rank && bound ? std::optional(std::pair(*rank, *bound)) : std::nullopt;
  };
  std::map<std::pair<std::int64_t, double>, double> earlier;
  for (const Sample& sample : before.of(name)) {
    if (const auto where = key(sample)) {
      earlier[*where] += sample.value;
    }
  }
  std::map<std::pair<std::int64_t, double>, double> later;
  for (const Sample& sample : now.of(name)) {
    if (const auto where = key(sample)) {
      later[*where] += sample.value;
    }
  }
  std::map<std::int64_t, std::vector<Bucket>> buckets;
  for (const auto& [where, count] : later) {
    const auto found = earlier.find(where);
    buckets[where.first].push_back({where.second, grown(found == earlier.end() ? 0 : found->second, count)});
  }
  return buckets;
}

/// Interpolated in its bucket, as Prometheus does; what lies above the last finite bound counts as that.
std::optional<double> quantile(const std::vector<Bucket>& buckets, double share) {
  if (buckets.size() < 2 || !(buckets.back().count > 0)) {
    return std::nullopt;
  }
  const double goal = share * buckets.back().count;
  Bucket below;
  for (const Bucket& bucket : buckets) {
    if (bucket.bound > buckets[buckets.size() - 2].bound) {
      break;
    }
    if (bucket.count >= goal && bucket.count > below.count) {
      return below.bound + (bucket.bound - below.bound) * (goal - below.count) / (bucket.count - below.count);
    }
    below = bucket;
  }
  return buckets[buckets.size() - 2].bound;
}

/// Two pages to compare.
class Interval {
 public:
  Interval(const TimedPage& before, const TimedPage& now)
      : before_(before.page), now_(now.page), seconds_(to_seconds(now.at - before.at)) {
    RUDDER_CHECK(seconds_ > 0, "of two pages one is later");
  }

  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] double value(std::string_view name) const { return now_.sum(name); }
  [[nodiscard]] Rate rate(std::string_view name) const { return rate(before_.sum(name), now_.sum(name)); }
  [[nodiscard]] std::vector<TrainerView> trainers() const;
  [[nodiscard]] std::vector<PeerView> peers() const;

 private:
  /// Of one figure, by rank.
  class Column {
   public:
    Column(const Interval& between, std::string_view name, std::string_view label)
        : between_(between),
          before_(by_rank(between.before_, name, label)),
          now_(by_rank(between.now_, name, label)) {}
    [[nodiscard]] const ByRank& all() const { return now_; }
    [[nodiscard]] double value(std::int64_t rank) const { return at(now_, rank); }
    [[nodiscard]] Rate rate(std::int64_t rank) const {
      return between_.rate(at(before_, rank), at(now_, rank));
    }

   private:
    const Interval& between_;
    ByRank before_;
    ByRank now_;
  };

  [[nodiscard]] Rate rate(double before, double now) const { return {now, grown(before, now) / seconds_}; }

  const Page& before_;
  const Page& now_;
  const double seconds_;
};

std::vector<TrainerView> Interval::trainers() const {
  const Column attached(*this, "rudder_trainer_attached", "trainer");
  const Column waiting(*this, "rudder_trainer_waiting", "trainer");
  const Column batches(*this, "rudder_trainer_batches_total", "trainer");
  const Column rows(*this, "rudder_trainer_rows_total", "trainer");
  const Column waited(*this, "rudder_trainer_wait_seconds_total", "trainer");
  const Column ahead(*this, "rudder_trainer_batches_ahead", "trainer");
  std::vector<TrainerView> views;
  for (const auto& [trainer, is_attached] : attached.all()) {
    views.push_back({.trainer = trainer,
                     .attached = is_attached > 0,
                     .waiting = waiting.value(trainer) > 0,
                     .batches = batches.rate(trainer),
                     .rows = rows.rate(trainer),
                     .wait_share = waited.rate(trainer).per_second,
                     .ahead = ahead.value(trainer)});
  }
  return views;
}

std::vector<PeerView> Interval::peers() const {
  const Column requests(*this, "rudder_pull_seconds_count", "peer");
  const Column rows(*this, "rudder_peer_rows_total", "peer");
  const Column bytes(*this, "rudder_peer_payload_bytes_total", "peer");
  const Column in_flight(*this, "rudder_pull_credits_in_use", "peer");
  const Column queued(*this, "rudder_pulls_waiting", "peer");
  auto latencies = buckets_between(before_, now_, "rudder_pull_seconds_bucket", "peer");
  std::vector<PeerView> views;
  for (const auto& [peer, total] : rows.all()) {
    const std::vector<Bucket>& buckets = latencies[peer];
    views.push_back({.peer = peer,
                     .requests = requests.rate(peer),
                     .rows = rows.rate(peer),
                     .payload_bytes = bytes.rate(peer),
                     .latency_p50 = quantile(buckets, 0.5),
                     .latency_p95 = quantile(buckets, 0.95),
                     .in_flight = in_flight.value(peer),
                     .queued = queued.value(peer)});
  }
  return views;
}

std::string label_of_first(const Page& page, std::string_view name, std::string_view label) {
  const auto samples = page.of(name);
  return samples.empty() ? std::string() : std::string(samples.front().label(label));
}

}  // namespace

std::optional<double> ServiceView::hit_share() const {
  if (requested.per_second > 0) {
    return hit.per_second / requested.per_second;
  }
  return requested.total > 0 ? std::optional(hit.total / requested.total) : std::nullopt;
}

ServiceView view_service(const TimedPage& before, const TimedPage& now) {
  const Interval between(before, now);
  ServiceView view;
  view.seconds = between.seconds();
  view.host = parse_int(label_of_first(now.page, "rudder_served_runs_total", "rank"));
  view.policy = label_of_first(now.page, "rudder_served_rows_requested_total", "policy");
  view.runs = between.value("rudder_served_runs_total");
  view.slots = between.value("rudder_buffer_slots");
  view.occupied = between.value("rudder_buffer_slots_occupied");
  view.plans_in_flight = between.value("rudder_plans_in_flight");
  view.credits = between.value("rudder_pull_credits");
  view.requested = between.rate("rudder_served_rows_requested_total");
  view.hit = between.rate("rudder_served_rows_hit_total");
  view.fetched = between.rate("rudder_served_rows_fetched_total");
  view.bypassed = between.rate("rudder_served_rows_bypassed_total");
  view.payload_bytes = between.rate("rudder_served_payload_bytes_total");
  view.wire_bytes = between.rate("rudder_served_wire_bytes_total");
  view.messages = between.rate("rudder_served_messages_total");
  view.trainers = between.trainers();
  view.peers = between.peers();
  return view;
}

}  // namespace rudder::report

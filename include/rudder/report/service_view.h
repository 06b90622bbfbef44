// SPDX-License-Identifier: Apache-2.0
// What `rudder top` shows: a service between two of its pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/metrics/page.h"

namespace rudder::report {

/// A page and when it was made, on a clock of who made it.
struct TimedPage {
  Duration at{};
  const metrics::Page& page;
};

/// A total, and how it grew a second between the two pages.
struct Rate {
  double total = 0;
  double per_second = 0;
};

struct TrainerView {
  std::int64_t trainer = 0;  ///< its rank
  bool attached = false;
  bool waiting = false;  ///< for a batch, now
  Rate batches, rows;
  double wait_share = 0;  ///< of the time between the pages
  double ahead = 0;       ///< batches given beyond those asked for
};

struct PeerView {
  std::int64_t peer = 0;  ///< its rank
  Rate requests, rows, payload_bytes;
  /// Seconds from a request to its answer, of those answered between the pages; nothing when none was.
  std::optional<double> latency_p50, latency_p95;
  double in_flight = 0;  ///< requests
  double queued = 0;     ///< requests that wait for a credit
};

struct ServiceView {
  double seconds = 0;                ///< between the pages
  std::optional<std::int64_t> host;  ///< its rank
  std::string policy;                ///< empty before the first run
  double runs = 0;                   ///< served to their end
  double slots = 0, occupied = 0;
  double plans_in_flight = 0;
  double credits = 0;                      ///< of each peer
  Rate requested, hit, fetched, bypassed;  ///< rows
  Rate payload_bytes, wire_bytes, messages;
  std::vector<TrainerView> trainers;  ///< by rank, as are the peers
  std::vector<PeerView> peers;

  /// Of the rows requested between the pages, or of all when there were none; nothing before the first.
  [[nodiscard]] std::optional<double> hit_share() const;
};

/// From pages of `rudder serve`; what they do not have is 0 or empty. Figures that fell count as standing
/// still. `now` is later than `before`.
[[nodiscard]] ServiceView view_service(const TimedPage& before, const TimedPage& now);

/// For a terminal, cut to its size. Lines end with a line break.
[[nodiscard]] std::string service_screen(const ServiceView& view, std::size_t columns, std::size_t lines);
/// All of the service in one line, without a line break.
[[nodiscard]] std::string service_line(const ServiceView& view);

}  // namespace rudder::report

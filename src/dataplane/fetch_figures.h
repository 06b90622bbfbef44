// SPDX-License-Identifier: Apache-2.0
// What the asking side measures of each owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/dataplane/plane.h"
#include "rudder/metrics/registry.h"

namespace rudder::dataplane {

/// Does nothing without a registry. Calls cost some relaxed additions and allocate nothing.
class FetchFigures {
 public:
  explicit FetchFigures(const PlaneOptions& options) : credits_(options.credits), peers_(options.world) {
    if (options.figures == nullptr) {
      return;
    }
    const std::string rank = std::to_string(options.rank);
    options.figures
        ->gauge("rudder_pull_credits", "Requests that may be in flight to one owner of rows",
                {{"rank", rank}})
        .set(credits_);
    for (Rank r = 0; r < options.world; ++r) {
      if (r != options.rank) {
        peers_[r].emplace(*options.figures, metrics::Labels{{"rank", rank}, {"peer", std::to_string(r)}});
      }
    }
  }

  /// A request was answered with its rows, `latency` after it was sent.
  void answered(Rank peer, Duration latency, std::uint64_t rows, std::uint64_t bytes) noexcept {
    if (peers_[peer]) {
      peers_[peer]->latency.observe(to_seconds(latency));
      peers_[peer]->rows.add(rows);
      peers_[peer]->bytes.add(bytes);
    }
  }
  /// Requests in flight, and requests that wait for one of them to end.
  void queued(Rank peer, std::size_t free_credits, std::size_t waiting) noexcept {
    if (peers_[peer]) {
      peers_[peer]->in_use.set(static_cast<double>(credits_ - free_credits));
      peers_[peer]->waiting.set(static_cast<double>(waiting));
    }
  }

 private:
  struct Peer {
    Peer(metrics::Registry& registry, const metrics::Labels& labels)
        : latency(registry.histogram("rudder_pull_seconds", "Time from a request for rows to its answer",
                                     metrics::latency_bounds(), labels)),
          rows(registry.counter("rudder_peer_rows_total", "Rows pulled, for whatever purpose", labels)),
          bytes(registry.counter("rudder_peer_payload_bytes_total", "Bytes of rows pulled", labels)),
          in_use(registry.gauge("rudder_pull_credits_in_use", "Requests in flight", labels)),
          waiting(registry.gauge("rudder_pulls_waiting", "Requests that wait for a credit", labels)) {}
    metrics::Histogram& latency;
    metrics::Counter& rows;
    metrics::Counter& bytes;
    metrics::Gauge& in_use;
    metrics::Gauge& waiting;
  };

  std::uint32_t credits_;
  std::vector<std::optional<Peer>> peers_;
};

}  // namespace rudder::dataplane

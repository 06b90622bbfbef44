// SPDX-License-Identifier: Apache-2.0
// The asking side of rows: what is asked of whom, and where the answers land.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/aligned.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/wire.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/transport.h"

#include "dataplane/byte_pool.h"
#include "dataplane/fetch_figures.h"
#include "dataplane/peer_names.h"
#include "dataplane/request_window.h"
#include "dataplane/traffic_meter.h"

namespace rudder::dataplane {

/// State of one pull.
class Ticket final : public WindowTicket {
 public:
  [[nodiscard]] std::string what() const override;

 private:
  friend class Fetcher;
  /// What one request asks for.
  struct Piece {
    std::size_t first = 0;  ///< row of the pull
    std::uint32_t rows = 0;
    std::size_t id_bytes = 0;
    AlignedBytes block;  ///< holds the body while it arrives, without `keep`
  };

  std::byte* destination_ = nullptr;
  std::shared_ptr<const void> keep_;  ///< of the destination; null: replies go through a block of the pool
  std::size_t row_bytes_ = 0;
  std::uint8_t table_ = 0;
  std::vector<Piece> pieces_;
  Transfer transfer_;
};

/// Splits pulls into requests, and places the answers.
///
/// Who may write to a destination. A pull can fail while an answer is landing. The transport then still
/// writes. So either the plane holds the owner of the memory (`keep`) through the request's hold on its
/// ticket, or the address is that of a block of the pool, which is copied under the mutex when the pull is
/// still wanted. Nothing waits for a landing to end.
class Fetcher final : public RequestWindow {
 public:
  Fetcher(const graph::PartitionBook& book, const PlaneOptions& options, const PeerNames& names,
          transport::Transport& transport, Pools& pools);

  [[nodiscard]] std::shared_ptr<Ticket> pull(std::uint8_t table, std::span<const NodeId> ids,
                                             std::size_t row_bytes, std::byte* destination,
                                             std::shared_ptr<const void> keep);
  [[nodiscard]] Result<Transfer> wait(Ticket& ticket);
  [[nodiscard]] const TrafficMeter& meter() const noexcept { return meter_; }

 private:
  [[nodiscard]] std::vector<std::vector<Request>> cut(Ticket& ticket, std::span<const NodeId> ids) const;
  [[nodiscard]] std::optional<Error> check(std::span<const NodeId> ids) const;

  [[nodiscard]] Result<std::byte*> place(Rank from, WindowTicket& asked, std::size_t piece,
                                         const FrameHeader& header, std::size_t body_bytes) override;
  void take(Rank from, WindowTicket& asked, std::size_t piece, const FrameHeader& header,
            std::size_t body_bytes, Duration latency) override;
  void drop(WindowTicket& asked, std::size_t piece) override;
  void load_changed(Rank owner, std::size_t free, std::size_t waiting) noexcept override {
    figures_.queued(owner, free, waiting);
    meter_.in_flight(owner, options_.credits - free);
  }

  const graph::PartitionBook& book_;
  FetchFigures figures_;
  TrafficMeter meter_;
};

}  // namespace rudder::dataplane

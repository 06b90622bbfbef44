// SPDX-License-Identifier: Apache-2.0
// The asking side: requests in flight, and where their answers land.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

namespace rudder::dataplane {

/// State of one pull. All members belong to the fetcher and are guarded by its mutex.
class Ticket {
 private:
  friend class Fetcher;
  std::byte* destination_ = nullptr;
  std::shared_ptr<const void> keep_;  ///< of the destination; null: replies go through a block of the pool
  std::size_t row_bytes_ = 0;
  std::uint8_t table_ = 0;
  std::vector<std::uint32_t> owed_;  ///< by rank: requests not answered yet
  std::size_t owed_total_ = 0;
  TimePoint started_;
  Transfer transfer_;
  std::optional<Error> error_;
  std::condition_variable changed_;
};

/// Splits pulls into requests, keeps up to `credits` of them in flight an owner, and places the answers.
/// Thread-safe. landing(), received(), refused() and peer_failed() are the progress thread's.
///
/// Who may write to a destination. A reply is received in two steps: landing() hands out the address,
/// received() says that the bytes are there. A pull can fail between the two (deadline, cancel, another
/// owner's refusal). The transport then still writes. So either the plane holds the owner of the memory
/// (`keep`) from landing() to received() or peer_failed(), through the request's hold on its ticket, or the
/// address is that of a block of the pool, which is copied under the mutex when the pull is still wanted.
/// Nothing waits for a landing to end.
class Fetcher {
 public:
  Fetcher(const graph::PartitionBook& book, const PlaneOptions& options, const PeerNames& names,
          transport::Transport& transport, Pools& pools);

  [[nodiscard]] std::shared_ptr<Ticket> pull(std::uint8_t table, std::span<const NodeId> ids,
                                             std::size_t row_bytes, std::byte* destination,
                                             std::shared_ptr<const void> keep);
  [[nodiscard]] Result<Transfer> wait(Ticket& ticket);
  void abandon(Ticket& ticket);
  void cancel(const Error& error);

  /// Address for a kRows body; nullptr when nothing expects it.
  [[nodiscard]] std::byte* landing(Rank from, const FrameHeader& header, std::size_t body_bytes);
  /// False when nothing expected the answer.
  bool received(Rank from, const FrameHeader& header);
  bool refused(Rank from, const FrameHeader& header, std::string_view reason);
  void peer_failed(Rank peer, const Error& error);
  [[nodiscard]] std::optional<Error> failure_of(Rank peer) const;

 private:
  /// A request that waits for a credit.
  struct Chunk {
    std::shared_ptr<Ticket> ticket;
    std::size_t first = 0;  ///< row of the pull
    std::uint32_t rows = 0;
    AlignedBytes ids;
    std::size_t id_bytes = 0;
  };
  /// A request in flight. Its number is generation x slots + position in slots_; 0 means free.
  struct Slot {
    std::uint64_t request = 0;
    bool landing = false;
    std::shared_ptr<Ticket> ticket;
    std::size_t first = 0;
    std::uint32_t rows = 0;
    std::size_t id_bytes = 0;
    TimePoint asked;
    AlignedBytes block;  ///< holds the body while landing, without `keep`
  };
  struct Peer {
    std::deque<Chunk> queue;
    std::vector<std::uint32_t> free_slots;
    TimePoint last_answer;  ///< or the time at which it began to owe something
    std::optional<Error> failed;
  };
  struct Outgoing {
    Rank to = 0;
    FrameHeader header;
    AlignedBytes ids;
    std::size_t id_bytes = 0;
  };

  [[nodiscard]] std::vector<std::vector<Chunk>> cut(const std::shared_ptr<Ticket>& ticket,
                                                    std::span<const NodeId> ids) const;
  [[nodiscard]] std::optional<Error> check(std::span<const NodeId> ids) const;
  void submit(const std::shared_ptr<Ticket>& ticket, std::vector<std::vector<Chunk>> chunks);
  void send(Outgoing outgoing);

  // With the mutex held.
  [[nodiscard]] Slot* find(Rank from, std::uint64_t request);
  [[nodiscard]] std::optional<Outgoing> next_request(Rank owner);
  void free_slot(Slot& slot);
  void answered(Rank from, Slot& slot);
  void fail(Ticket& ticket, const Error& error);
  [[nodiscard]] TimePoint limit_of(const Ticket& ticket, Rank owner) const;
  [[nodiscard]] std::optional<Error> overdue(const Ticket& ticket, TimePoint now) const;

  const graph::PartitionBook& book_;
  const PlaneOptions& options_;
  const PeerNames& names_;
  transport::Transport& transport_;
  Pools& pools_;
  FetchFigures figures_;

  mutable std::mutex mutex_;
  std::vector<Peer> peers_;
  std::vector<Slot> slots_;  ///< `credits` of each peer, one peer after another
  std::uint64_t generation_ = 0;
  std::optional<Error> cancelled_;
};

}  // namespace rudder::dataplane

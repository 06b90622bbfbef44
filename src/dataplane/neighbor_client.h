// SPDX-License-Identifier: Apache-2.0
// The asking side of sampling: asks in flight, their answers, and whom to name when one doesn't come.
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
#include "rudder/dataplane/sample_wire.h"
#include "rudder/graph/partition.h"
#include "rudder/sample/neighbors.h"
#include "rudder/transport/transport.h"

#include "dataplane/byte_pool.h"
#include "dataplane/peer_names.h"

namespace rudder::dataplane {

/// One request to one owner and its answer.
struct AskedRun {
  std::size_t first = 0;      ///< of the nodes asked about together
  std::size_t rows = 0;       ///< asked about; the answer may cover fewer
  std::size_t answered = 0;   ///< of those, covered by the answer
  std::size_t ask_bytes = 0;  ///< body
  std::size_t body_bytes = 0;
  AlignedBytes body;  ///< of the answer; back to Pools::rows
};

/// State of some requests that are waited for together. Guarded by the client's mutex until wait() returns.
class AskTicket {
 private:
  friend class NeighborClient;
  std::uint64_t most_ = 0;  ///< neighbours of one node at most
  std::vector<AskedRun> runs_;
  std::vector<std::uint32_t> owed_;  ///< by rank
  std::size_t owed_total_ = 0;
  TimePoint started_;
  std::optional<Error> error_;
  std::condition_variable changed_;
};

/// Keeps up to kWindow requests in flight an owner; more are queued in order. Thread-safe. landing(),
/// received(), refused() and peer_failed() are the progress thread's.
class NeighborClient {
 public:
  static constexpr std::uint32_t kWindow = 16;
  /// Nodes of one request at most.
  static constexpr std::size_t kMostAsked = std::size_t{1} << 16;

  /// `book` of the ranks; no node has more than `max_degree` neighbours.
  NeighborClient(const graph::PartitionBook& book, EdgeIndex max_degree, const PlaneOptions& options,
                 const PeerNames& names, transport::Transport& transport, Pools& pools);

  /// Asks about `nodes` (ascending, distinct, of other ranks): one request an owner, or several for more than
  /// kMostAsked nodes. `nodes` are not read after the call.
  [[nodiscard]] std::shared_ptr<AskTicket> ask(std::span<const NodeId> nodes, const sample::HopRule& rule);
  /// Waits for all answers, at most options.deadline beyond the last answer of an owner that still owes some;
  /// errors name the rank and host. The runs are in the order of the nodes.
  [[nodiscard]] Result<std::vector<AskedRun>> wait(AskTicket& ticket);
  void abandon(AskTicket& ticket);
  void cancel(const Error& error);
  /// Appends what `run` was answered to `out`, and gives its memory back.
  [[nodiscard]] Status decode(AskedRun& run, const sample::HopRule& rule, sample::DrawnNeighbors& out);
  /// "rank 2 (host b)", the owner of a node.
  [[nodiscard]] std::string owner_of(NodeId node) const { return names_.of(book_.part_of(node)); }

  /// Address for a kDrawn body; nullptr when nothing expects it.
  [[nodiscard]] std::byte* landing(Rank from, const FrameHeader& header, std::size_t body_bytes);
  /// False when nothing expected the answer.
  bool received(Rank from, const FrameHeader& header, std::size_t body_bytes);
  bool refused(Rank from, const FrameHeader& header, std::string_view reason);
  void peer_failed(Rank peer, const Error& error);

 private:
  /// A request that waits for its turn.
  struct Waiting {
    std::shared_ptr<AskTicket> ticket;
    std::size_t run = 0;
    AlignedBytes body;
  };
  /// A request in flight. Its number is generation x slots + position in slots_; 0 means free.
  struct Slot {
    std::uint64_t request = 0;
    bool landing = false;
    std::shared_ptr<AskTicket> ticket;
    std::size_t run = 0;
  };
  struct Peer {
    std::deque<Waiting> queue;
    std::vector<std::uint32_t> free_slots;
    TimePoint last_answer;  ///< or the time at which it began to owe something
    std::optional<Error> failed;
  };
  struct Outgoing {
    Rank to = 0;
    FrameHeader header;
    AlignedBytes body;
    std::size_t body_bytes = 0;
  };

  [[nodiscard]] std::vector<std::vector<Waiting>> cut(const std::shared_ptr<AskTicket>& ticket,
                                                      std::span<const NodeId> nodes,
                                                      const sample::HopRule& rule) const;
  [[nodiscard]] std::uint64_t most_of(int fanout) const noexcept;
  void send(Outgoing outgoing);

  // With the mutex held.
  [[nodiscard]] Slot* find(Rank from, std::uint64_t request);
  [[nodiscard]] std::optional<Outgoing> next_request(Rank owner);
  void free_slot(Slot& slot);
  [[nodiscard]] std::optional<Outgoing> answered(Rank from, Slot& slot);
  void fail(AskTicket& ticket, const Error& error);
  [[nodiscard]] TimePoint limit_of(const AskTicket& ticket, Rank owner) const;
  [[nodiscard]] std::optional<Error> overdue(const AskTicket& ticket, TimePoint now) const;

  const graph::PartitionBook& book_;
  const std::uint64_t max_degree_;
  const PlaneOptions& options_;
  const PeerNames& names_;
  transport::Transport& transport_;
  Pools& pools_;

  std::mutex mutex_;
  std::vector<Peer> peers_;
  std::vector<Slot> slots_;  ///< kWindow of each peer, one peer after another
  std::uint64_t generation_ = 0;
  std::optional<Error> cancelled_;
};

/// One user's asks: can be stopped without the others'.
[[nodiscard]] std::unique_ptr<sample::RemoteNeighbors> make_remote_neighbors(NeighborClient& client);

}  // namespace rudder::dataplane

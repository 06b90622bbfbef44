// SPDX-License-Identifier: Apache-2.0
// The asking side of sampling: what is asked of whom, and what is answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
#include "dataplane/request_window.h"

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

/// State of some requests that are waited for together.
class AskTicket final : public WindowTicket {
 public:
  [[nodiscard]] std::string what() const override { return "an ask for neighbours"; }

 private:
  friend class NeighborClient;
  std::uint64_t most_ = 0;  ///< neighbours of one node at most
  std::vector<AskedRun> runs_;
};

/// Keeps up to kCredits requests in flight an owner.
class NeighborClient final : public RequestWindow {
 public:
  static constexpr std::uint32_t kCredits = 16;
  /// Nodes of one request at most.
  static constexpr std::size_t kMostAsked = std::size_t{1} << 16;

  /// `book` of the ranks; no node has more than `max_degree` neighbours.
  NeighborClient(const graph::PartitionBook& book, EdgeIndex max_degree, const PlaneOptions& options,
                 const PeerNames& names, transport::Transport& transport, Pools& pools);

  /// Asks about `nodes` (ascending, distinct, of other ranks): one request an owner, or several for more than
  /// kMostAsked nodes. `nodes` are not read after the call.
  [[nodiscard]] std::shared_ptr<AskTicket> ask(std::span<const NodeId> nodes, const sample::HopRule& rule);
  /// Waits for all answers as wait_for(). The runs are in the order of the nodes.
  [[nodiscard]] Result<std::vector<AskedRun>> wait(AskTicket& ticket);
  /// Appends what `run` was answered to `out`, and gives its memory back.
  [[nodiscard]] Status decode(AskedRun& run, const sample::HopRule& rule, sample::DrawnNeighbors& out);
  /// "rank 2 (host b)", the owner of a node.
  [[nodiscard]] std::string owner_of(NodeId node) const { return names_.of(book_.part_of(node)); }

 private:
  [[nodiscard]] std::vector<std::vector<Request>> cut(AskTicket& ticket, std::span<const NodeId> nodes,
                                                      const sample::HopRule& rule) const;
  [[nodiscard]] std::uint64_t most_of(int fanout) const noexcept;

  [[nodiscard]] Result<std::byte*> place(Rank from, WindowTicket& asked, std::size_t piece,
                                         const FrameHeader& header, std::size_t body_bytes) override;
  void take(Rank from, WindowTicket& asked, std::size_t piece, const FrameHeader& header,
            std::size_t body_bytes, Duration latency) override;
  void drop(WindowTicket& /*asked*/, std::size_t /*piece*/) override {}  // the body is the run's
  void load_changed(Rank /*owner*/, std::size_t /*free*/, std::size_t /*waiting*/) noexcept override {}

  const graph::PartitionBook& book_;
  const std::uint64_t max_degree_;
};

/// One user's asks: can be stopped without the others'.
[[nodiscard]] std::unique_ptr<sample::RemoteNeighbors> make_remote_neighbors(NeighborClient& client);

}  // namespace rudder::dataplane

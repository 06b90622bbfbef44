// SPDX-License-Identifier: Apache-2.0
// The answering side of sampling: draws neighbours of owned nodes for the ranks that ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/graph/graph.h"
#include "rudder/sample/neighbors.h"
#include "rudder/transport/transport.h"

#include "dataplane/byte_pool.h"
#include "dataplane/request_thread.h"

namespace rudder::dataplane {

/// Draws on a thread of its own, so that pulls of rows are served meanwhile. Thread-safe. The structure must
/// outlive stop().
class NeighborServer final : public RequestThread {
 public:
  /// Requests of one rank that wait at most; one more is refused. Ranks keep fewer in flight.
  static constexpr std::size_t kMaxWaiting = 64;

  NeighborServer(graph::CscSlice own, Rank world, transport::Transport& transport, Pools& pools);
  ~NeighborServer();

  /// Bytes of a request about `rows` nodes at most; 0 when no request may ask about that many.
  [[nodiscard]] std::size_t max_body_bytes(std::uint32_t rows) const noexcept;
  /// Doesn't block.
  void enqueue(PeerRequest request);

 private:
  [[nodiscard]] bool accept(PeerRequest& request) override;
  void answer(PeerRequest& request) override;

  const graph::CscSlice own_;
  std::vector<std::uint32_t> waiting_;  ///< by rank: its requests in the queue; guarded by the mutex

  // The thread's.
  sample::NeighborDrawer drawer_;
  std::vector<NodeId> positions_;  ///< of the nodes asked about, in the part
  sample::DrawnNeighbors drawn_;
  std::vector<std::byte> encoded_;
};

}  // namespace rudder::dataplane

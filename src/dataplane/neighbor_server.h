// SPDX-License-Identifier: Apache-2.0
// The answering side of sampling: draws neighbours of owned nodes for the ranks that ask.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rudder/core/aligned.h"
#include "rudder/core/ids.h"
#include "rudder/dataplane/wire.h"
#include "rudder/graph/graph.h"
#include "rudder/sample/neighbors.h"
#include "rudder/transport/transport.h"

#include "dataplane/byte_pool.h"

namespace rudder::dataplane {

/// An ask as it arrived.
struct AskRequest {
  Rank from = 0;
  FrameHeader header;
  AlignedBytes body;
  std::size_t body_bytes = 0;
};

/// Draws on a thread of its own, one request after another, so that pulls of rows are served meanwhile.
/// Thread-safe. The structure and the transport must outlive stop(), the pools the transport.
class NeighborServer {
 public:
  /// Requests of one rank that wait at most; one more is refused. Ranks keep fewer in flight.
  static constexpr std::size_t kMaxWaiting = 64;

  NeighborServer(graph::CscSlice own, Rank world, transport::Transport& transport, Pools& pools);
  ~NeighborServer();
  NeighborServer(const NeighborServer&) = delete;
  NeighborServer& operator=(const NeighborServer&) = delete;

  /// Bytes of a request about `rows` nodes at most; 0 when no request may ask about that many.
  [[nodiscard]] std::size_t max_body_bytes(std::uint32_t rows) const noexcept;
  /// Doesn't block.
  void enqueue(AskRequest request);
  /// Sends a refusal. Doesn't block.
  void refuse(Rank to, const FrameHeader& request, const std::string& reason);
  /// Ends and joins the thread; requests that wait are dropped. Idempotent, for one thread.
  void stop();

 private:
  void run();
  void answer(AskRequest& request);

  const graph::CscSlice own_;
  transport::Transport& transport_;
  Pools& pools_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<AskRequest> queue_;
  std::vector<std::uint32_t> waiting_;  ///< by rank: its requests in queue_
  bool stopping_ = false;

  // The thread's.
  sample::NeighborDrawer drawer_;
  std::vector<NodeId> positions_;  ///< of the nodes asked about, in the part
  sample::DrawnNeighbors drawn_;
  std::vector<std::byte> encoded_;
  std::thread thread_;
};

}  // namespace rudder::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/neighbor_server.h"

#include <cstring>
#include <mutex>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "rudder/dataplane/sample_wire.h"
#include "rudder/dataplane/wire.h"

namespace rudder::dataplane {

NeighborServer::NeighborServer(graph::CscSlice own, Rank world, transport::Transport& transport, Pools& pools)
    : RequestThread("rudder-draw", FrameType::kAskRefused, transport, pools),
      own_(own),
      waiting_(world),
      drawer_(own) {
  start();
}

NeighborServer::~NeighborServer() {
  stop();
}

std::size_t NeighborServer::max_body_bytes(std::uint32_t rows) const noexcept {
  return rows == 0 || rows > static_cast<std::uint64_t>(own_.csc.nodes())
             ? 0
             : kAskHeadBytes + std::size_t{rows} * kMaxIdBytes;
}

void NeighborServer::enqueue(PeerRequest request) {
  {
    const std::lock_guard lock(mutex_);
    std::uint32_t& waiting = waiting_[request.from];
    if (waiting < kMaxWaiting) {
      ++waiting;
      queue(std::move(request));
      return;
    }
  }
  refuse(request.from, request.header, fmt::format("{} asks of this rank wait already", kMaxWaiting));
}

bool NeighborServer::accept(PeerRequest& request) {
  --waiting_[request.from];
  return true;
}

void NeighborServer::answer(PeerRequest& request) {
  sample::HopRule rule;
  const Status decoded = decode_ask(own_.csc.nodes(), request.header.rows,
                                    request.body.bytes().first(request.body_bytes), rule, positions_);
  pools_.small.give(std::move(request.body));
  if (!decoded.ok()) {
    refuse(request.from, request.header, decoded.error().message);
    return;
  }
  std::size_t rows = 0;
  std::uint64_t total = 0;
  for (NodeId& position : positions_) {
    position += own_.begin;
    const std::uint64_t count = drawer_.count(position, rule.fanout);
    if (rows > 0 && total + count > kMostDrawn) {
      break;  // the asker asks again for the rest
    }
    total += count;
    ++rows;
  }
  drawn_.clear();
  encoded_.clear();
  drawer_.draw(std::span(positions_).first(rows), rule, drawn_);
  encode_drawn(drawn_, encoded_);
  AlignedBytes body = pools_.rows.take(encoded_.size());
  std::memcpy(body.data(), encoded_.data(), encoded_.size());
  send(request.from, {FrameType::kDrawn, 0, static_cast<std::uint32_t>(rows), request.header.request},
       std::move(body), encoded_.size(), pools_.rows);
}

}  // namespace rudder::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/neighbor_server.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/machine.h"
#include "rudder/dataplane/sample_wire.h"

namespace rudder::dataplane {

NeighborServer::NeighborServer(graph::CscSlice own, Rank world, transport::Transport& transport, Pools& pools)
    : own_(own), transport_(transport), pools_(pools), waiting_(world), drawer_(own) {
  thread_ = std::thread([this] { run(); });
}

NeighborServer::~NeighborServer() {
  stop();
}

void NeighborServer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::size_t NeighborServer::max_body_bytes(std::uint32_t rows) const noexcept {
  return rows == 0 || rows > static_cast<std::uint64_t>(own_.csc.nodes())
             ? 0
             : kAskHeadBytes + std::size_t{rows} * kMaxIdBytes;
}

void NeighborServer::enqueue(AskRequest request) {
  {
    const std::lock_guard lock(mutex_);
    std::uint32_t& waiting = waiting_[request.from];
    if (waiting < kMaxWaiting) {
      ++waiting;
      queue_.push_back(std::move(request));
      work_.notify_one();
      return;
    }
  }
  refuse(request.from, request.header, fmt::format("{} asks of this rank wait already", kMaxWaiting));
}

void NeighborServer::refuse(Rank to, const FrameHeader& request, const std::string& reason) {
  std::array<std::byte, kFrameHeaderBytes> header{};
  encode_header({FrameType::kAskRefused, 0, request.rows, request.request}, header);
  const std::size_t bytes = std::min(reason.size(), kMaxReasonBytes);
  AlignedBytes body = pools_.small.take(bytes);
  std::memcpy(body.data(), reason.data(), bytes);
  transport_.send(to, header, std::move(body), bytes,
                  [this](AlignedBytes block) { pools_.small.give(std::move(block)); });
}

void NeighborServer::run() {
  name_this_thread("rudder-draw");
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) {
      return;
    }
    AskRequest request = std::move(queue_.front());
    queue_.pop_front();
    --waiting_[request.from];
    lock.unlock();
    answer(request);
    lock.lock();
  }
}

void NeighborServer::answer(AskRequest& request) {
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
  std::array<std::byte, kFrameHeaderBytes> header{};
  encode_header({FrameType::kDrawn, 0, static_cast<std::uint32_t>(rows), request.header.request}, header);
  transport_.send(request.from, header, std::move(body), encoded_.size(),
                  [this](AlignedBytes block) { pools_.rows.give(std::move(block)); });
}

}  // namespace rudder::dataplane

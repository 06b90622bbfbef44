// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx_transport.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "transport/rank_list.h"

namespace rudder::transport {

Result<std::unique_ptr<Transport>> UcxTransport::create(Rank rank, Rank world) {
  if (rank >= world) {
    return Error{Errc::kInvalidArgument, fmt::format("UCX: rank {} is not below world size {}", rank, world)};
  }
  RUDDER_ASSIGN(auto worker, UcxWorker::create(world, kFrameBytes));
  return std::unique_ptr<Transport>(new UcxTransport(rank, world, std::move(worker)));
}

UcxTransport::UcxTransport(Rank rank, Rank world, std::unique_ptr<UcxWorker> worker)
    : rank_(rank), world_(world), worker_(std::move(worker)), peers_(world), welcomed_(world, false) {
  for (Rank r = 0; r < world; ++r) {
    peers_[r].owner = this;
    peers_[r].rank = r;
  }
  welcomed_[rank] = true;
}

UcxTransport::~UcxTransport() {
  if (progress_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    worker_->wake();
    progress_.join();
  }
  // UCX may complete what is left while its worker goes, so the lists must outlive the worker.
  worker_.reset();
}

std::string UcxTransport::who() const {
  return fmt::format("UCX rank {}", rank_);
}

Error UcxTransport::peer_error(Rank peer, ucs_status_t status) const {
  return {Errc::kPeer, fmt::format("{}: connection to rank {}: {}", who(), peer, ucs_status_string(status))};
}

Status UcxTransport::connect(std::span<const std::string> addresses, Deadline deadline) {
  if (receiver_ == nullptr) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: connect before start", who())};
  }
  if (addresses.size() != world_) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: {} addresses for a world of {}", who(), addresses.size(), world_)};
  }
  std::vector<std::string> ucx_addresses;
  for (Rank r = 0; r < world_; ++r) {
    auto address = decode_address(addresses[r], r, world_);
    if (!address.ok()) {
      return address.error().in(who());
    }
    ucx_addresses.push_back(std::move(address).value());
  }
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(connecting_, true)) {
      return Error{Errc::kInvalidArgument, fmt::format("{}: connected twice", who())};
    }
  }
  run_on_progress_thread([this, targets = std::move(ucx_addresses)] { create_endpoints(targets); });

  std::unique_lock lock(mutex_);
  const auto all_welcomed = [&] {
    return std::find(welcomed_.begin(), welcomed_.end(), false) == welcomed_.end();
  };
  changed_.wait_until(lock, deadline.at(), [&] { return first_failure_.has_value() || all_welcomed(); });
  if (first_failure_.has_value()) {
    return first_failure_->in("connect");
  }
  if (!all_welcomed()) {
    std::vector<Rank> missing;
    for (Rank r = 0; r < world_; ++r) {
      if (!welcomed_[r]) {
        missing.push_back(r);
      }
    }
    return Error{Errc::kTimeout, fmt::format("{}: connect: no answer from {}", who(), rank_list(missing))};
  }
  return {};
}

void UcxTransport::send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
                        std::function<void(AlignedBytes)> recycle) {
  RUDDER_CHECK(to < world_, "send: no such rank");
  RUDDER_CHECK(header.size() <= kMaxHeaderBytes, "send: header too long");
  RUDDER_CHECK(body_bytes <= body.size(), "send: body shorter than body_bytes");
  std::list<Outgoing> message(1);
  Outgoing& out = message.front();
  out.to = to;
  out.frame_bytes = encode_frame({FrameKind::kMessage, rank_, header}, out.frame);
  out.body = std::move(body);
  out.body_bytes = body_bytes;
  out.recycle = std::move(recycle);
  enqueue(message);
}

void UcxTransport::enqueue(std::list<Outgoing>& message) {
  Outgoing& out = message.front();
  out.owner = this;
  out.self = message.begin();
  outstanding_.add(out.to);
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    queue_.splice(queue_.end(), message);
    wake = std::exchange(sleeping_, false);
  }
  if (wake) {
    worker_->wake();
  }
}

void UcxTransport::run_on_progress_thread(std::function<void()> task) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wake = std::exchange(sleeping_, false);
  }
  if (wake) {
    worker_->wake();
  }
}

Status UcxTransport::flush(Deadline deadline) {
  RUDDER_TRY(outstanding_.wait(who(), deadline));
  const auto round = std::make_shared<FlushRound>();
  run_on_progress_thread([this, round] { begin_flush(round); });
  std::unique_lock lock(round->mutex);
  if (!round->changed.wait_until(lock, deadline.at(), [&] { return round->done(); })) {
    const std::vector<Rank> slow(round->pending.begin(), round->pending.end());
    return Error{Errc::kTimeout,
                 fmt::format("{}: flush: bytes not taken by {} in time", who(), rank_list(slow))};
  }
  return {};
}

Result<std::unique_ptr<Transport>> make_ucx_transport(Rank rank, Rank world) {
  return UcxTransport::create(rank, world);
}

}  // namespace rudder::transport

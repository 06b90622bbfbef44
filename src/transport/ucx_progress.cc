// SPDX-License-Identifier: Apache-2.0
// The progress thread of the UCX transport: messages out and in.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/log.h"
#include "rudder/core/machine.h"

#include "transport/ucx_transport.h"

namespace rudder::transport {
namespace {

constexpr unsigned kMessageId = 0;
// After a short message an answer often follows: looking for it a little longer before sleeping saves both
// sides' wake-ups, 25 us each on a virtual machine. Not after long ones, whose copies need the processor.
constexpr std::size_t kShortBytes = 1024;
constexpr std::chrono::microseconds kLinger{50};

}  // namespace

Status UcxTransport::start(Receiver& receiver) {
  if (receiver_ != nullptr) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: started twice", who())};
  }
  ucp_am_handler_param_t param{};
  param.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = kMessageId;
  param.arg = this;
  param.cb = [](void* self, const void* header, std::size_t header_length, void* data, std::size_t length,
                const ucp_am_recv_param_t* info) {
    const std::span<const std::byte> frame(static_cast<const std::byte*>(header), header_length);
    const bool rendezvous = (info->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    return static_cast<UcxTransport*>(self)->accept(frame, data, length, rendezvous);
  };
  if (const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_->handle(), &param);
      status != UCS_OK) {
    return Error{Errc::kInternal,
                 fmt::format("{}: ucp_worker_set_am_recv_handler: {}", who(), ucs_status_string(status))};
  }
  receiver_ = &receiver;
  progress_ = std::jthread([this] { run(); });
  return {};
}

void UcxTransport::run() {
  name_this_thread(fmt::format("ucx {}", rank_));
  for (;;) {
    const bool worked = run_queued();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) {
        break;
      }
    }
    const bool progressed = worker_->progress();
    close_failed();
    if (!worked && !progressed) {
      if (steady_clock().now() < linger_until_) {
        std::this_thread::yield();
      } else {
        rest();
      }
    }
  }
  shut_down();
}

bool UcxTransport::run_queued() {
  std::list<Outgoing> messages;
  std::list<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(queue_);
    tasks.swap(tasks_);
  }
  const bool worked = !messages.empty() || !tasks.empty();
  while (!messages.empty()) {
    in_flight_.splice(in_flight_.end(), messages, messages.begin());
    post(in_flight_.back());
  }
  for (const auto& task : tasks) {
    task();
  }
  return worked;
}

void UcxTransport::linger_after(std::size_t body_bytes) {
  linger_until_ = body_bytes <= kShortBytes ? steady_clock().now() + kLinger : TimePoint{};
}

void UcxTransport::rest() {
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.empty() || !tasks_.empty() || stop_) {
      return;
    }
    sleeping_ = true;
  }
  const Status slept = worker_->sleep(-1);
  {
    const std::lock_guard lock(mutex_);
    sleeping_ = false;
  }
  if (!slept.ok()) {
    for (Peer& peer : peers_) {
      fail(peer, slept.error().in(who()));
    }
    // Nothing but dropping messages is left to do; without events that takes a look now and then.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void UcxTransport::create_endpoints(const std::vector<std::string>& addresses) {
  for (Peer& peer : peers_) {
    if (peer.rank == rank_ || peer.failure.has_value()) {
      continue;
    }
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(addresses[peer.rank].data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.arg = &peer;
    params.err_handler.cb = [](void* arg, ucp_ep_h, ucs_status_t status) {
      auto& broken = *static_cast<Peer*>(arg);
      broken.owner->fail(broken, broken.owner->peer_error(broken.rank, status));
    };
    const ucs_status_t status = ucp_ep_create(worker_->handle(), &params, &peer.endpoint);
    if (status != UCS_OK) {
      peer.endpoint = nullptr;
      fail(peer, peer_error(peer.rank, status));
      continue;
    }
    send_frame(peer.rank, FrameKind::kHello);
    if (peer.greeted) {
      send_frame(peer.rank, FrameKind::kWelcome);
    }
  }
}

void UcxTransport::send_frame(Rank to, FrameKind kind) {
  std::list<Outgoing> message(1);
  Outgoing& out = message.front();
  out.to = to;
  out.kind = kind;
  out.frame_bytes = encode_frame({kind, rank_, {}}, out.frame);
  enqueue(message);
}

void UcxTransport::post(Outgoing& message) {
  if (message.to == rank_) {
    deliver_to_self(message);
    finish(message);
    return;
  }
  linger_after(message.body_bytes);
  const Peer& peer = peers_[message.to];
  if (peer.failure.has_value()) {
    finish(message);
    return;
  }
  RUDDER_CHECK(peer.endpoint != nullptr, "send before connect");
  const ucp_request_param_t param = request_param(
      [](void* request, ucs_status_t, void* user_data) {
        // The status does not matter here: a broken connection is reported by the endpoint's error handler.
        ucp_request_free(request);
        auto& sent = *static_cast<Outgoing*>(user_data);
        sent.owner->finish(sent);
      },
      &message);
  ucs_status_ptr_t const request =
      ucp_am_send_nbx(peer.endpoint, kMessageId, message.frame.data(), message.frame_bytes,
                      message.body.data(), message.body_bytes, &param);
  if (!UCS_PTR_IS_ERR(request) && message.kind == FrameKind::kMessage) {
    tally_.sent(message.frame_bytes - kPrefixBytes + message.body_bytes);
  }
  if (request == nullptr) {
    finish(message);
  } else if (UCS_PTR_IS_ERR(request)) {
    const Rank to = message.to;
    finish(message);
    fail(peers_[to], peer_error(to, UCS_PTR_STATUS(request)));
  }
}

void UcxTransport::deliver_to_self(const Outgoing& message) {
  const auto header = std::span(message.frame).first(message.frame_bytes).subspan(kPrefixBytes);
  tally_.sent(header.size() + message.body_bytes);
  tally_.received(header.size() + message.body_bytes);
  if (message.body_bytes == 0) {
    receiver_->received(rank_, header, {});
  } else if (std::byte* landing = receiver_->landing(rank_, header, message.body_bytes)) {
    std::memcpy(landing, message.body.data(), message.body_bytes);
    receiver_->received(rank_, header, {landing, message.body_bytes});
  }
}

void UcxTransport::finish(Outgoing& message) {
  if (message.recycle && !closing_) {
    message.recycle(std::move(message.body));
  }
  const Rank to = message.to;
  in_flight_.erase(message.self);
  outstanding_.remove(to);
}

ucs_status_t UcxTransport::accept(std::span<const std::byte> frame_bytes, void* data, std::size_t length,
                                  bool rendezvous) {
  const std::optional<Frame> frame = decode_frame(frame_bytes, world_);
  if (!frame.has_value() || frame->from == rank_) {
    drop("is not of this protocol");
    return UCS_OK;
  }
  if (peers_[frame->from].failure.has_value() || closing_) {
    return UCS_OK;
  }
  if (frame->kind == FrameKind::kHello) {
    accept_hello(peers_[frame->from]);
    return UCS_OK;
  }
  if (peers_[frame->from].endpoint == nullptr) {
    // Ranks welcome and send only whom they have heard of, so this is not from one. An answer could not
    // leave.
    drop(fmt::format("says that it is from rank {}, before connecting", frame->from));
    return UCS_OK;
  }
  if (frame->kind == FrameKind::kWelcome) {
    accept_welcome(frame->from);
    return UCS_OK;
  }
  linger_after(length);
  if (length == 0) {
    tally_.received(frame->header.size());
    receiver_->received(frame->from, frame->header, {});
    return UCS_OK;
  }
  std::byte* const landing = receiver_->landing(frame->from, frame->header, length);
  if (landing == nullptr) {
    tally_.received(frame->header.size() + length);
    return UCS_OK;  // UCX drops the body and completes the sender's side
  }
  if (rendezvous) {
    pull_body(*frame, data, landing, length);
    return UCS_INPROGRESS;  // the descriptor is UCX's again
  }
  std::memcpy(landing, data, length);
  tally_.received(frame->header.size() + length);
  receiver_->received(frame->from, frame->header, {landing, length});
  return UCS_OK;
}

void UcxTransport::drop(std::string_view what) {
  if (!std::exchange(dropped_, true)) {  // a flood shall not fill the log
    log_warning(fmt::format("{}: dropped a message that {}; more are dropped silently", who(), what));
  }
}

void UcxTransport::accept_hello(Peer& peer) {
  if (!std::exchange(peer.greeted, true) && peer.endpoint != nullptr) {
    send_frame(peer.rank, FrameKind::kWelcome);
  }
}

void UcxTransport::accept_welcome(Rank peer) {
  {
    const std::lock_guard lock(mutex_);
    welcomed_[peer] = true;
  }
  changed_.notify_all();
}

void UcxTransport::pull_body(const Frame& frame, void* descriptor, std::byte* landing, std::size_t length) {
  std::list<Incoming>& home = peers_[frame.from].incoming;
  Incoming& message = home.emplace_back();
  message.owner = this;
  message.home = &home;
  message.self = std::prev(home.end());
  message.from = frame.from;
  message.header_bytes = frame.header.size();
  std::copy(frame.header.begin(), frame.header.end(), message.header.begin());
  message.body = {landing, length};
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = &message;
  param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* user_data) {
    ucp_request_free(request);
    auto& done = *static_cast<Incoming*>(user_data);
    done.owner->finish(done, status);
  };
  ucs_status_ptr_t const request =
      ucp_am_recv_data_nbx(worker_->handle(), descriptor, landing, length, &param);
  if (request == nullptr) {
    finish(message, UCS_OK);
  } else if (UCS_PTR_IS_ERR(request)) {
    finish(message, UCS_PTR_STATUS(request));
  }
}

void UcxTransport::finish(Incoming& message, ucs_status_t status) {
  Peer& peer = peers_[message.from];
  if (status != UCS_OK) {
    // A body that landing() was told of will never be whole: only the peer's failure can say so.
    const Error error = peer_error(peer.rank, status);
    message.home->erase(message.self);
    fail(peer, error);
    return;
  }
  if (!peer.buried && !closing_) {
    tally_.received(message.header_bytes + message.body.size());
    receiver_->received(message.from, std::span(message.header).first(message.header_bytes), message.body);
  }
  message.home->erase(message.self);
}

}  // namespace rudder::transport

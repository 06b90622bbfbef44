// SPDX-License-Identifier: Apache-2.0
// The progress thread of the UCX transport: failed peers, flushing and the end.
#include <algorithm>
#include <utility>

#include "transport/ucx_transport.h"

namespace rudder::transport {
namespace {

/// How long the destructor waits for endpoints to flush, again for them to close, and for what then remains.
constexpr Duration kClosePatience = std::chrono::seconds(1);

}  // namespace

void UcxTransport::fail(Peer& peer, Error error) {
  if (peer.rank == rank_ || peer.failure.has_value()) {
    return;
  }
  peer.failure = std::move(error);
  failed_.push_back(&peer);
}

void UcxTransport::close_failed() {
  for (Peer* peer : std::exchange(failed_, {})) {
    force_close(*peer);
  }
}

void UcxTransport::force_close(Peer& peer) {
  ucp_ep_h const endpoint = std::exchange(peer.endpoint, nullptr);
  if (endpoint == nullptr) {
    bury(peer);
    return;
  }
  ucp_request_param_t param = request_param(
      [](void* request, ucs_status_t, void* user_data) {
        ucp_request_free(request);
        auto& closed = *static_cast<Peer*>(user_data);
        closed.owner->bury(closed);
      },
      &peer);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  ucs_status_ptr_t const request = ucp_ep_close_nbx(endpoint, &param);
  if (request == nullptr || UCS_PTR_IS_ERR(request)) {
    bury(peer);
  }
}

void UcxTransport::bury(Peer& peer) {
  peer.buried = true;
  for (Incoming& message : peer.incoming) {
    message.home = &abandoned_;
  }
  abandoned_.splice(abandoned_.end(), peer.incoming);
  if (!closing_) {
    receiver_->peer_failed(peer.rank, *peer.failure);
  }
  {
    const std::lock_guard lock(mutex_);
    if (!first_failure_.has_value()) {
      first_failure_ = peer.failure;
    }
  }
  changed_.notify_all();
}

void UcxTransport::FlushCall::complete(void* request, ucs_status_t, void* call) {
  ucp_request_free(request);
  const std::unique_ptr<FlushCall> owned(static_cast<FlushCall*>(call));
  owned->finish();
}

void UcxTransport::FlushCall::finish() {
  {
    const std::lock_guard lock(round->mutex);
    round->pending.erase(rank);
  }
  round->changed.notify_all();
}

void UcxTransport::begin_flush(const std::shared_ptr<FlushRound>& round) {
  {
    const std::lock_guard lock(round->mutex);
    for (const Peer& peer : peers_) {
      if (peer.endpoint != nullptr && !peer.failure.has_value()) {
        round->pending.insert(peer.rank);
      }
    }
    round->begun = true;
  }
  round->changed.notify_all();
  for (const Peer& peer : peers_) {
    if (peer.endpoint == nullptr || peer.failure.has_value()) {
      continue;
    }
    auto call = std::make_unique<FlushCall>(FlushCall{round, peer.rank});
    const ucp_request_param_t param = request_param(&FlushCall::complete, call.get());
    ucs_status_ptr_t const request = ucp_ep_flush_nbx(peer.endpoint, &param);
    if (request == nullptr || UCS_PTR_IS_ERR(request)) {
      call->finish();
    } else {
      static_cast<void>(call.release());  // complete() takes it back
    }
  }
}

template <class Done>
void UcxTransport::progress_until(Deadline deadline, Done done) {
  while (!done() && !deadline.passed()) {
    if (!worker_->progress() && !worker_->sleep(10).ok()) {
      return;
    }
  }
}

void UcxTransport::shut_down() {
  closing_ = true;
  const auto round = std::make_shared<FlushRound>();
  begin_flush(round);
  progress_until(Deadline::in(kClosePatience), [&] {
    const std::lock_guard lock(round->mutex);
    return round->done();
  });
  for (Peer& peer : peers_) {
    if (peer.endpoint != nullptr) {
      peer.failure = Error{Errc::kCancelled, "closed"};
      force_close(peer);
    }
  }
  progress_until(Deadline::in(kClosePatience), [&] {
    return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
      return peer.endpoint == nullptr && (!peer.failure || peer.buried);
    });
  });
  // What is left of closed endpoints goes in callbacks of its own. A worker that is destroyed before them
  // makes UCX 1.13 walk a list that it has moved (ucs_callbackq_remove_if).
  const Deadline deadline = Deadline::in(kClosePatience);
  int idle = 0;
  while (idle < 3 && !deadline.passed()) {
    idle = worker_->progress() ? 0 : idle + 1;
  }
}

}  // namespace rudder::transport

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/request_window.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace rudder::dataplane {

RequestWindow::RequestWindow(const PlaneOptions& options, std::uint32_t credits, const PeerNames& names,
                             transport::Transport& transport, Pools& pools)
    : options_(options),
      names_(names),
      pools_(pools),
      credits_(credits),
      transport_(transport),
      peers_(options.world),
      slots_(std::size_t{options.world} * credits) {
  for (Rank r = 0; r < options.world; ++r) {
    for (std::uint32_t i = credits; i > 0; --i) {
      peers_[r].free_slots.push_back(r * credits + i - 1);
    }
  }
}

void RequestWindow::submit(const std::shared_ptr<WindowTicket>& ticket,
                           std::vector<std::vector<Request>> requests) {
  std::vector<Outgoing> outgoing;
  ticket->owed_.resize(options_.world);
  ticket->started_ = steady_clock().now();
  {
    const std::lock_guard lock(mutex_);
    ticket->error_ = cancelled_;
    for (Rank r = 0; r < options_.world; ++r) {
      if (!requests[r].empty() && peers_[r].failed && !ticket->error_) {
        ticket->error_ = peers_[r].failed;
      }
    }
    if (ticket->error_) {
      return;
    }
    for (Rank r = 0; r < options_.world; ++r) {
      ticket->owed_[r] = narrow<std::uint32_t>(requests[r].size());
      ticket->owed_total_ += requests[r].size();
      for (Request& request : requests[r]) {
        peers_[r].queue.push_back({ticket, std::move(request)});
      }
      while (auto request = next_request(r)) {
        outgoing.push_back(std::move(*request));
      }
    }
  }
  for (Outgoing& request : outgoing) {
    send(std::move(request));
  }
}

void RequestWindow::send(Outgoing outgoing) {
  std::array<std::byte, kFrameHeaderBytes> header{};
  encode_header(outgoing.request.header, header);
  transport_.send(outgoing.to, header, std::move(outgoing.request.body), outgoing.request.body_bytes,
                  [this](AlignedBytes block) { pools_.small.give(std::move(block)); });
}

std::optional<RequestWindow::Outgoing> RequestWindow::next_request(Rank owner) {
  Peer& peer = peers_[owner];
  if (peer.queue.empty() || peer.free_slots.empty() || peer.failed) {
    return std::nullopt;
  }
  const TimePoint now = steady_clock().now();
  if (peer.free_slots.size() == credits_) {
    peer.last_answer = now;
  }
  Waiting next = std::move(peer.queue.front());
  peer.queue.pop_front();
  const std::uint32_t position = peer.free_slots.back();
  peer.free_slots.pop_back();
  load_changed(owner, peer.free_slots.size(), peer.queue.size());
  next.request.header.request = ++generation_ * slots_.size() + position;
  slots_[position] = {next.request.header.request, false, std::move(next.ticket), next.request.piece, now};
  return Outgoing{owner, std::move(next.request)};
}

RequestWindow::Slot* RequestWindow::find(Rank from, std::uint64_t request) {
  const std::uint64_t position = request % slots_.size();
  if (request == 0 || position / credits_ != from || slots_[position].request != request) {
    return nullptr;
  }
  return &slots_[position];
}

void RequestWindow::free_slot(Slot& slot) {
  drop(*slot.ticket, slot.piece);
  slot = Slot{};
  const auto position = static_cast<std::uint32_t>(&slot - slots_.data());
  Peer& peer = peers_[position / credits_];
  peer.free_slots.push_back(position);
  load_changed(position / credits_, peer.free_slots.size(), peer.queue.size());
}

std::optional<RequestWindow::Outgoing> RequestWindow::settle(Rank from, Slot& slot, TimePoint now) {
  peers_[from].last_answer = now;
  free_slot(slot);
  return next_request(from);
}

std::byte* RequestWindow::landing(Rank from, const FrameHeader& header, std::size_t body_bytes) {
  std::optional<Outgoing> next;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || slot->landing) {
      return nullptr;
    }
    WindowTicket& ticket = *slot->ticket;
    if (!ticket.error_) {
      const auto address = place(from, ticket, slot->piece, header, body_bytes);
      if (address.ok()) {
        slot->landing = true;
        return address.value();
      }
      fail(ticket, address.error());
    }
    next = settle(from, *slot, steady_clock().now());
  }
  if (next) {
    send(std::move(*next));
  }
  return nullptr;
}

bool RequestWindow::received(Rank from, const FrameHeader& header, std::size_t body_bytes) {
  std::optional<Outgoing> next;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || !slot->landing) {
      return false;
    }
    const TimePoint now = steady_clock().now();
    WindowTicket& ticket = *slot->ticket;
    if (!ticket.error_) {
      take(from, ticket, slot->piece, header, body_bytes, now - slot->asked);
      --ticket.owed_[from];
      if (--ticket.owed_total_ == 0) {
        ticket.changed_.notify_all();
      }
    }
    next = settle(from, *slot, now);
  }
  if (next) {
    send(std::move(*next));
  }
  return true;
}

bool RequestWindow::refused(Rank from, const FrameHeader& header, std::string_view reason) {
  std::optional<Outgoing> next;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || slot->landing) {
      return false;
    }
    fail(*slot->ticket, Error{Errc::kPeer, fmt::format("{} refused: {}", names_.of(from), reason)});
    next = settle(from, *slot, steady_clock().now());
  }
  if (next) {
    send(std::move(*next));
  }
  return true;
}

void RequestWindow::fail(WindowTicket& ticket, const Error& error) {
  if (ticket.error_ || ticket.owed_total_ == 0) {
    return;
  }
  ticket.error_ = error;
  for (Peer& peer : peers_) {
    std::erase_if(peer.queue, [&](const Waiting& waiting) { return waiting.ticket.get() == &ticket; });
  }
  ticket.changed_.notify_all();
}

void RequestWindow::fail_queue(Peer& peer, const Error& error) {
  while (!peer.queue.empty()) {
    const std::shared_ptr<WindowTicket> ticket = peer.queue.front().ticket;
    fail(*ticket, error);  // takes its requests out of the queue
  }
}

void RequestWindow::peer_failed(Rank rank, const Error& error) {
  const std::lock_guard lock(mutex_);
  Peer& peer = peers_[rank];
  peer.failed = Error{Errc::kPeer, fmt::format("{}: {}", names_.of(rank), error.message)};
  for (std::uint32_t i = 0; i < credits_; ++i) {
    Slot& slot = slots_[rank * credits_ + i];
    if (slot.request != 0) {
      fail(*slot.ticket, *peer.failed);
      free_slot(slot);
    }
  }
  fail_queue(peer, *peer.failed);
}

std::optional<Error> RequestWindow::failure_of(Rank peer) const {
  const std::lock_guard lock(mutex_);
  return peers_[peer].failed;
}

void RequestWindow::abandon(WindowTicket& ticket) {
  const std::lock_guard lock(mutex_);
  fail(ticket, Error{Errc::kCancelled, ticket.what() + " was abandoned"});
}

void RequestWindow::cancel(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!cancelled_) {
    cancelled_ = error;
  }
  for (const Slot& slot : slots_) {
    if (slot.request != 0) {
      fail(*slot.ticket, *cancelled_);
    }
  }
  for (Peer& peer : peers_) {
    fail_queue(peer, *cancelled_);
  }
}

TimePoint RequestWindow::limit_of(const WindowTicket& ticket, Rank owner) const {
  return std::max(ticket.started_, peers_[owner].last_answer) + options_.deadline;
}

std::optional<Error> RequestWindow::overdue(const WindowTicket& ticket, TimePoint now) const {
  std::string who;
  for (Rank r = 0; r < options_.world; ++r) {
    if (ticket.owed_[r] != 0 && limit_of(ticket, r) <= now) {
      who += fmt::format("{}{} with {} requests", who.empty() ? "" : ", ", names_.of(r), ticket.owed_[r]);
    }
  }
  if (who.empty()) {
    return std::nullopt;
  }
  return Error{Errc::kTimeout, fmt::format("no answer within {:.1f} s to {} from {}",
                                           to_seconds(options_.deadline), ticket.what(), who)};
}

Status RequestWindow::wait_for(WindowTicket& ticket) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (ticket.error_) {
      return *ticket.error_;
    }
    if (ticket.owed_total_ == 0) {
      return {};
    }
    const TimePoint now = steady_clock().now();
    if (const auto error = overdue(ticket, now)) {
      fail(ticket, *error);
      continue;
    }
    TimePoint wake = now + options_.deadline;
    for (Rank r = 0; r < options_.world; ++r) {
      if (ticket.owed_[r] != 0) {
        wake = std::min(wake, limit_of(ticket, r));
      }
    }
    ticket.changed_.wait_until(lock, wake);
  }
}

}  // namespace rudder::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "dataplane/neighbor_client.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"

namespace rudder::dataplane {

NeighborClient::NeighborClient(const graph::PartitionBook& book, EdgeIndex max_degree,
                               const PlaneOptions& options, const PeerNames& names,
                               transport::Transport& transport, Pools& pools)
    : book_(book),
      max_degree_(static_cast<std::uint64_t>(max_degree)),
      options_(options),
      names_(names),
      transport_(transport),
      pools_(pools),
      peers_(options.world),
      slots_(std::size_t{options.world} * kWindow) {
  for (Rank r = 0; r < options.world; ++r) {
    for (std::uint32_t i = kWindow; i > 0; --i) {
      peers_[r].free_slots.push_back(r * kWindow + i - 1);
    }
  }
}

std::uint64_t NeighborClient::most_of(int fanout) const noexcept {
  const std::uint64_t most = std::min<std::uint64_t>(max_degree_, std::numeric_limits<std::uint32_t>::max());
  return fanout < 0 ? most : std::min<std::uint64_t>(most, static_cast<std::uint64_t>(fanout));
}

std::vector<std::vector<NeighborClient::Waiting>> NeighborClient::cut(
    const std::shared_ptr<AskTicket>& ticket, std::span<const NodeId> nodes,
    const sample::HopRule& rule) const {
  std::vector<std::vector<Waiting>> requests(options_.world);
  std::vector<std::byte> encoded;
  for (std::size_t first = 0; first < nodes.size();) {
    const PartId owner = book_.part_of(nodes[first]);
    RUDDER_DCHECK(owner != options_.rank, "a rank draws for its own nodes itself");
    const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(first);
    const auto of_owner =
        static_cast<std::size_t>(std::lower_bound(begin, nodes.end(), book_.end(owner)) - begin);
    const std::size_t rows = std::min(of_owner, kMostAsked);
    encoded.clear();
    encode_ask(rule, book_.begin(owner), nodes.subspan(first, rows), encoded);
    Waiting waiting{ticket, ticket->runs_.size(), pools_.small.take(encoded.size())};
    std::memcpy(waiting.body.data(), encoded.data(), encoded.size());
    requests[owner].push_back(std::move(waiting));
    AskedRun& run = ticket->runs_.emplace_back();
    run.first = first;
    run.rows = rows;
    run.ask_bytes = encoded.size();
    first += rows;
  }
  return requests;
}

std::shared_ptr<AskTicket> NeighborClient::ask(std::span<const NodeId> nodes, const sample::HopRule& rule) {
  auto ticket = std::make_shared<AskTicket>();
  ticket->most_ = most_of(rule.fanout);
  ticket->owed_.resize(options_.world);
  ticket->started_ = steady_clock().now();
  auto requests = cut(ticket, nodes, rule);
  std::vector<Outgoing> outgoing;
  {
    const std::lock_guard lock(mutex_);
    ticket->error_ = cancelled_;
    for (Rank r = 0; r < options_.world; ++r) {
      if (!requests[r].empty() && peers_[r].failed && !ticket->error_) {
        ticket->error_ = peers_[r].failed;
      }
    }
    if (ticket->error_) {
      return ticket;
    }
    for (Rank r = 0; r < options_.world; ++r) {
      ticket->owed_[r] = narrow<std::uint32_t>(requests[r].size());
      ticket->owed_total_ += requests[r].size();
      for (Waiting& request : requests[r]) {
        peers_[r].queue.push_back(std::move(request));
      }
      while (auto request = next_request(r)) {
        outgoing.push_back(std::move(*request));
      }
    }
  }
  for (Outgoing& request : outgoing) {
    send(std::move(request));
  }
  return ticket;
}

void NeighborClient::send(Outgoing outgoing) {
  std::array<std::byte, kFrameHeaderBytes> header{};
  encode_header(outgoing.header, header);
  transport_.send(outgoing.to, header, std::move(outgoing.body), outgoing.body_bytes,
                  [this](AlignedBytes block) { pools_.small.give(std::move(block)); });
}

std::optional<NeighborClient::Outgoing> NeighborClient::next_request(Rank owner) {
  Peer& peer = peers_[owner];
  if (peer.queue.empty() || peer.free_slots.empty() || peer.failed) {
    return std::nullopt;
  }
  if (peer.free_slots.size() == kWindow) {
    peer.last_answer = steady_clock().now();
  }
  Waiting next = std::move(peer.queue.front());
  peer.queue.pop_front();
  const std::uint32_t position = peer.free_slots.back();
  peer.free_slots.pop_back();
  Slot& slot = slots_[position];
  const AskedRun& run = next.ticket->runs_[next.run];
  slot = {++generation_ * slots_.size() + position, false, std::move(next.ticket), next.run};
  return Outgoing{owner,
                  {FrameType::kAsk, 0, narrow<std::uint32_t>(run.rows), slot.request},
                  std::move(next.body),
                  run.ask_bytes};
}

NeighborClient::Slot* NeighborClient::find(Rank from, std::uint64_t request) {
  const std::uint64_t position = request % slots_.size();
  if (request == 0 || position / kWindow != from || slots_[position].request != request) {
    return nullptr;
  }
  return &slots_[position];
}

void NeighborClient::free_slot(Slot& slot) {
  const auto position = static_cast<std::uint32_t>(&slot - slots_.data());
  slot = Slot{};
  peers_[position / kWindow].free_slots.push_back(position);
}

std::optional<NeighborClient::Outgoing> NeighborClient::answered(Rank from, Slot& slot) {
  peers_[from].last_answer = steady_clock().now();
  free_slot(slot);
  return next_request(from);
}

std::byte* NeighborClient::landing(Rank from, const FrameHeader& header, std::size_t body_bytes) {
  std::optional<Outgoing> next;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || slot->landing) {
      return nullptr;
    }
    AskTicket& ticket = *slot->ticket;
    AskedRun& run = ticket.runs_[slot->run];
    const DrawnLimits limits{book_.nodes(), ticket.most_};
    if (!ticket.error_ && header.table == 0 && header.rows > 0 && header.rows <= run.rows && body_bytes > 0 &&
        body_bytes <= limits.body_bytes(header.rows)) {
      slot->landing = true;
      run.body = pools_.rows.take(body_bytes);
      return run.body.data();
    }
    fail(ticket,
         Error{Errc::kPeer, fmt::format("{} answered an ask about {} nodes with {} bytes for {} nodes",
                                        names_.of(from), run.rows, body_bytes, header.rows)});
    next = answered(from, *slot);
  }
  if (next) {
    send(std::move(*next));
  }
  return nullptr;
}

bool NeighborClient::received(Rank from, const FrameHeader& header, std::size_t body_bytes) {
  std::optional<Outgoing> next;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || !slot->landing) {
      return false;
    }
    AskTicket& ticket = *slot->ticket;
    AskedRun& run = ticket.runs_[slot->run];
    run.answered = header.rows;
    run.body_bytes = body_bytes;
    if (!ticket.error_) {
      --ticket.owed_[from];
      if (--ticket.owed_total_ == 0) {
        ticket.changed_.notify_all();
      }
    }
    next = answered(from, *slot);
  }
  if (next) {
    send(std::move(*next));
  }
  return true;
}

bool NeighborClient::refused(Rank from, const FrameHeader& header, std::string_view reason) {
  std::optional<Outgoing> next;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || slot->landing) {
      return false;
    }
    fail(*slot->ticket, Error{Errc::kPeer, fmt::format("{} refused: {}", names_.of(from), reason)});
    next = answered(from, *slot);
  }
  if (next) {
    send(std::move(*next));
  }
  return true;
}

void NeighborClient::fail(AskTicket& ticket, const Error& error) {
  if (ticket.error_ || ticket.owed_total_ == 0) {
    return;
  }
  ticket.error_ = error;
  for (Peer& peer : peers_) {
    std::erase_if(peer.queue, [&](const Waiting& waiting) { return waiting.ticket.get() == &ticket; });
  }
  ticket.changed_.notify_all();
}

void NeighborClient::peer_failed(Rank rank, const Error& error) {
  const std::lock_guard lock(mutex_);
  Peer& peer = peers_[rank];
  peer.failed = Error{Errc::kPeer, fmt::format("{}: {}", names_.of(rank), error.message)};
  for (std::uint32_t i = 0; i < kWindow; ++i) {
    Slot& slot = slots_[rank * kWindow + i];
    if (slot.request != 0) {
      fail(*slot.ticket, *peer.failed);
      free_slot(slot);
    }
  }
  while (!peer.queue.empty()) {
    const std::shared_ptr<AskTicket> ticket = peer.queue.front().ticket;
    fail(*ticket, *peer.failed);  // takes its requests out of the queue
  }
}

void NeighborClient::abandon(AskTicket& ticket) {
  const std::lock_guard lock(mutex_);
  fail(ticket, Error{Errc::kCancelled, "the ask was abandoned"});
}

void NeighborClient::cancel(const Error& error) {
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
    while (!peer.queue.empty()) {
      const std::shared_ptr<AskTicket> ticket = peer.queue.front().ticket;
      fail(*ticket, *cancelled_);
    }
  }
}

TimePoint NeighborClient::limit_of(const AskTicket& ticket, Rank owner) const {
  return std::max(ticket.started_, peers_[owner].last_answer) + options_.deadline;
}

std::optional<Error> NeighborClient::overdue(const AskTicket& ticket, TimePoint now) const {
  std::string who;
  for (Rank r = 0; r < options_.world; ++r) {
    if (ticket.owed_[r] != 0 && limit_of(ticket, r) <= now) {
      who += fmt::format("{}{} with {} requests", who.empty() ? "" : ", ", names_.of(r), ticket.owed_[r]);
    }
  }
  if (who.empty()) {
    return std::nullopt;
  }
  return Error{Errc::kTimeout, fmt::format("no answer within {:.1f} s to an ask for neighbours from {}",
                                           to_seconds(options_.deadline), who)};
}

Result<std::vector<AskedRun>> NeighborClient::wait(AskTicket& ticket) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (ticket.error_) {
      return *ticket.error_;
    }
    if (ticket.owed_total_ == 0) {
      return std::move(ticket.runs_);
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

Status NeighborClient::decode(AskedRun& run, const sample::HopRule& rule, sample::DrawnNeighbors& out) {
  const DrawnLimits limits{book_.nodes(), most_of(rule.fanout)};
  const Status done = decode_drawn(limits, run.answered, run.body.bytes().first(run.body_bytes), out);
  pools_.rows.give(std::move(run.body));
  return done;
}

}  // namespace rudder::dataplane

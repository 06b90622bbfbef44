// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fetcher.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"

namespace rudder::dataplane {
namespace {

/// Rows of one request at most, whatever the size of a row: bounds the requests a server must take.
constexpr std::size_t kMaxRequestRows = std::size_t{1} << 20;

}  // namespace

Fetcher::Fetcher(const graph::PartitionBook& book, const PlaneOptions& options, const PeerNames& names,
                 transport::Transport& transport, Pools& pools)
    : book_(book),
      options_(options),
      names_(names),
      transport_(transport),
      pools_(pools),
      figures_(options),
      peers_(options.world),
      slots_(std::size_t{options.world} * options.credits) {
  for (Rank r = 0; r < options.world; ++r) {
    for (std::uint32_t i = options.credits; i > 0; --i) {
      peers_[r].free_slots.push_back(r * options.credits + i - 1);
    }
  }
}

std::optional<Error> Fetcher::check(std::span<const NodeId> ids) const {
  if (ids.front() < 0 || ids.back() >= book_.nodes()) {
    return Error{Errc::kInvalidArgument, fmt::format("pull of nodes {} to {}, the graph has {}", ids.front(),
                                                     ids.back(), book_.nodes())};
  }
  const auto own = std::lower_bound(ids.begin(), ids.end(), book_.begin(options_.rank));
  if (own != ids.end() && *own < book_.end(options_.rank)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("pull of node {}, which rank {} owns itself", *own, options_.rank)};
  }
  return std::nullopt;
}

std::vector<std::vector<Fetcher::Chunk>> Fetcher::cut(const std::shared_ptr<Ticket>& ticket,
                                                      std::span<const NodeId> ids) const {
  std::vector<std::vector<Chunk>> chunks(options_.world);
  std::vector<std::byte> encoded;
  const std::size_t most =
      std::clamp<std::size_t>(options_.request_bytes / ticket->row_bytes_, 1, kMaxRequestRows);
  std::size_t first = 0;
  while (first < ids.size()) {
    const PartId owner = book_.part_of(ids[first]);
    const auto last =
        std::lower_bound(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end(), book_.end(owner));
    const auto end = static_cast<std::size_t>(last - ids.begin());
    std::size_t requests = (end - first + most - 1) / most;
    for (; requests > 0; --requests) {
      const std::size_t rows = (end - first + requests - 1) / requests;
      encoded.clear();
      encode_ids(book_.begin(owner), ids.subspan(first, rows), encoded);
      Chunk chunk;
      chunk.ticket = ticket;
      chunk.first = first;
      chunk.rows = narrow<std::uint32_t>(rows);
      chunk.ids = pools_.small.take(encoded.size());
      chunk.id_bytes = encoded.size();
      std::memcpy(chunk.ids.data(), encoded.data(), encoded.size());
      chunks[owner].push_back(std::move(chunk));
      first += rows;
    }
  }
  return chunks;
}

std::shared_ptr<Ticket> Fetcher::pull(std::uint8_t table, std::span<const NodeId> ids, std::size_t row_bytes,
                                      std::byte* destination, std::shared_ptr<const void> keep) {
  RUDDER_CHECK(row_bytes > 0, "rows of no bytes cannot be pulled");
  auto ticket = std::make_shared<Ticket>();
  ticket->destination_ = destination;
  ticket->keep_ = std::move(keep);
  ticket->row_bytes_ = row_bytes;
  ticket->table_ = table;
  ticket->owed_.resize(options_.world);
  ticket->started_ = steady_clock().now();
  if (ids.empty()) {
    return ticket;
  }
  ticket->error_ = check(ids);
  if (!ticket->error_) {
    submit(ticket, cut(ticket, ids));
  }
  return ticket;
}

void Fetcher::submit(const std::shared_ptr<Ticket>& ticket, std::vector<std::vector<Chunk>> chunks) {
  std::vector<Outgoing> outgoing;
  {
    const std::lock_guard lock(mutex_);
    ticket->error_ = cancelled_;
    for (Rank r = 0; r < options_.world; ++r) {
      if (!chunks[r].empty() && peers_[r].failed && !ticket->error_) {
        ticket->error_ = peers_[r].failed;
      }
    }
    if (ticket->error_) {
      return;
    }
    for (Rank r = 0; r < options_.world; ++r) {
      ticket->owed_[r] = narrow<std::uint32_t>(chunks[r].size());
      ticket->owed_total_ += chunks[r].size();
      for (Chunk& chunk : chunks[r]) {
        peers_[r].queue.push_back(std::move(chunk));
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

void Fetcher::send(Outgoing outgoing) {
  std::array<std::byte, kFrameHeaderBytes> header{};
  encode_header(outgoing.header, header);
  transport_.send(outgoing.to, header, std::move(outgoing.ids), outgoing.id_bytes,
                  [this](AlignedBytes block) { pools_.small.give(std::move(block)); });
}

std::optional<Fetcher::Outgoing> Fetcher::next_request(Rank owner) {
  Peer& peer = peers_[owner];
  if (peer.queue.empty() || peer.free_slots.empty() || peer.failed) {
    return std::nullopt;
  }
  const TimePoint now = steady_clock().now();
  if (peer.free_slots.size() == options_.credits) {
    peer.last_answer = now;
  }
  Chunk chunk = std::move(peer.queue.front());
  peer.queue.pop_front();
  const std::uint32_t position = peer.free_slots.back();
  peer.free_slots.pop_back();
  Slot& slot = slots_[position];
  slot.request = ++generation_ * slots_.size() + position;
  slot.landing = false;
  slot.first = chunk.first;
  slot.rows = chunk.rows;
  slot.id_bytes = chunk.id_bytes;
  slot.asked = now;
  figures_.queued(owner, peer.free_slots.size(), peer.queue.size());
  const FrameHeader header{FrameType::kPull, chunk.ticket->table_, chunk.rows, slot.request};
  slot.ticket = std::move(chunk.ticket);
  return Outgoing{owner, header, std::move(chunk.ids), chunk.id_bytes};
}

Fetcher::Slot* Fetcher::find(Rank from, std::uint64_t request) {
  const std::uint64_t position = request % slots_.size();
  if (request == 0 || position / options_.credits != from || slots_[position].request != request) {
    return nullptr;
  }
  return &slots_[position];
}

void Fetcher::free_slot(Slot& slot) {
  const auto position = static_cast<std::uint32_t>(&slot - slots_.data());
  pools_.rows.give(std::move(slot.block));
  slot = Slot{};
  Peer& peer = peers_[position / options_.credits];
  peer.free_slots.push_back(position);
  figures_.queued(position / options_.credits, peer.free_slots.size(), peer.queue.size());
}

void Fetcher::answered(Rank from, Slot& slot) {
  peers_[from].last_answer = steady_clock().now();
  free_slot(slot);
}

std::byte* Fetcher::landing(Rank from, const FrameHeader& header, std::size_t body_bytes) {
  std::optional<Outgoing> next;
  std::byte* address = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || slot->landing) {
      return nullptr;
    }
    Ticket& ticket = *slot->ticket;
    const std::size_t expected = slot->rows * ticket.row_bytes_;
    if (!ticket.error_ &&
        (body_bytes != expected || header.rows != slot->rows || header.table != ticket.table_)) {
      fail(ticket,
           Error{Errc::kPeer,
                 fmt::format("{} answered a pull of {} rows of table {} ({} bytes) with {} rows of table "
                             "{} ({} bytes)",
                             names_.of(from), slot->rows, ticket.table_, expected, header.rows, header.table,
                             body_bytes)});
    }
    if (!ticket.error_) {
      slot->landing = true;
      if (ticket.keep_ != nullptr) {
        return ticket.destination_ + slot->first * ticket.row_bytes_;
      }
      slot->block = pools_.rows.take(expected);
      return slot->block.data();
    }
    answered(from, *slot);
    next = next_request(from);
  }
  if (next) {
    send(std::move(*next));
  }
  return address;
}

bool Fetcher::received(Rank from, const FrameHeader& header) {
  std::optional<Outgoing> next;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || !slot->landing) {
      return false;
    }
    Ticket& ticket = *slot->ticket;
    if (!ticket.error_) {
      const std::size_t bytes = slot->rows * ticket.row_bytes_;
      if (ticket.keep_ == nullptr) {
        std::memcpy(ticket.destination_ + slot->first * ticket.row_bytes_, slot->block.data(), bytes);
      }
      figures_.answered(from, steady_clock().now() - slot->asked, slot->rows, bytes);
      ticket.transfer_ += Transfer{slot->rows, bytes, bytes + slot->id_bytes + 2 * kSealedHeaderBytes, 2};
      --ticket.owed_[from];
      if (--ticket.owed_total_ == 0) {
        ticket.changed_.notify_all();
      }
    }
    answered(from, *slot);
    next = next_request(from);
  }
  if (next) {
    send(std::move(*next));
  }
  return true;
}

bool Fetcher::refused(Rank from, const FrameHeader& header, std::string_view reason) {
  std::optional<Outgoing> next;
  {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(from, header.request);
    if (slot == nullptr || slot->landing) {
      return false;
    }
    fail(*slot->ticket, Error{Errc::kPeer, fmt::format("{} refused: {}", names_.of(from), reason)});
    answered(from, *slot);
    next = next_request(from);
  }
  if (next) {
    send(std::move(*next));
  }
  return true;
}

void Fetcher::fail(Ticket& ticket, const Error& error) {
  if (ticket.error_ || ticket.owed_total_ == 0) {
    return;
  }
  ticket.error_ = error;
  for (Peer& peer : peers_) {
    std::erase_if(peer.queue, [&](const Chunk& chunk) { return chunk.ticket.get() == &ticket; });
  }
  ticket.changed_.notify_all();
}

void Fetcher::peer_failed(Rank rank, const Error& error) {
  const std::lock_guard lock(mutex_);
  Peer& peer = peers_[rank];
  peer.failed = Error{Errc::kPeer, fmt::format("{}: {}", names_.of(rank), error.message)};
  for (std::uint32_t i = 0; i < options_.credits; ++i) {
    Slot& slot = slots_[rank * options_.credits + i];
    if (slot.request != 0) {
      fail(*slot.ticket, *peer.failed);
      free_slot(slot);
    }
  }
  while (!peer.queue.empty()) {
    const std::shared_ptr<Ticket> ticket = peer.queue.front().ticket;
    fail(*ticket, *peer.failed);  // takes its requests out of the queue
  }
}

std::optional<Error> Fetcher::failure_of(Rank peer) const {
  const std::lock_guard lock(mutex_);
  return peers_[peer].failed;
}

void Fetcher::abandon(Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  fail(ticket, Error{Errc::kCancelled, "pull abandoned"});
}

void Fetcher::cancel(const Error& error) {
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
      const std::shared_ptr<Ticket> ticket = peer.queue.front().ticket;
      fail(*ticket, *cancelled_);
    }
  }
}

TimePoint Fetcher::limit_of(const Ticket& ticket, Rank owner) const {
  return std::max(ticket.started_, peers_[owner].last_answer) + options_.deadline;
}

std::optional<Error> Fetcher::overdue(const Ticket& ticket, TimePoint now) const {
  std::string who;
  for (Rank r = 0; r < options_.world; ++r) {
    if (ticket.owed_[r] != 0 && limit_of(ticket, r) <= now) {
      who += fmt::format("{}{} with {} requests", who.empty() ? "" : ", ", names_.of(r), ticket.owed_[r]);
    }
  }
  if (who.empty()) {
    return std::nullopt;
  }
  return Error{Errc::kTimeout, fmt::format("no answer within {:.1f} s to a pull of rows of table {} from {}",
                                           to_seconds(options_.deadline), ticket.table_, who)};
}

Result<Transfer> Fetcher::wait(Ticket& ticket) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (ticket.error_) {
      return *ticket.error_;
    }
    if (ticket.owed_total_ == 0) {
      return ticket.transfer_;
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

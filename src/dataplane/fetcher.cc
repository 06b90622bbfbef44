// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fetcher.h"

#include <algorithm>
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
    : RequestWindow(options, options.credits, names, transport, pools),
      book_(book),
      figures_(options),
      meter_(options.world) {}

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

std::string Ticket::what() const {
  return fmt::format("a pull of rows of table {}", table_);
}

std::vector<std::vector<RequestWindow::Request>> Fetcher::cut(Ticket& ticket,
                                                              std::span<const NodeId> ids) const {
  std::vector<std::vector<Request>> by_owner(options_.world);
  std::vector<std::byte> encoded;
  const std::size_t most =
      std::clamp<std::size_t>(options_.request_bytes / ticket.row_bytes_, 1, kMaxRequestRows);
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
      Request request;
      request.piece = ticket.pieces_.size();
      request.header = {FrameType::kPull, ticket.table_, narrow<std::uint32_t>(rows), 0};
      request.body = pools_.small.take(encoded.size());
      request.body_bytes = encoded.size();
      std::memcpy(request.body.data(), encoded.data(), encoded.size());
      by_owner[owner].push_back(std::move(request));
      ticket.pieces_.push_back({first, narrow<std::uint32_t>(rows), encoded.size(), {}});
      first += rows;
    }
  }
  return by_owner;
}

std::shared_ptr<Ticket> Fetcher::pull(std::uint8_t table, std::span<const NodeId> ids, std::size_t row_bytes,
                                      std::byte* destination, std::shared_ptr<const void> keep) {
  RUDDER_CHECK(row_bytes > 0, "rows of no bytes cannot be pulled");
  auto ticket = std::make_shared<Ticket>();
  ticket->destination_ = destination;
  ticket->keep_ = std::move(keep);
  ticket->row_bytes_ = row_bytes;
  ticket->table_ = table;
  if (ids.empty()) {
    return ticket;
  }
  if (auto error = check(ids)) {
    refuse_to_ask(*ticket, *std::move(error));
  } else {
    submit(ticket, cut(*ticket, ids));
  }
  return ticket;
}

Result<Transfer> Fetcher::wait(Ticket& ticket) {
  RUDDER_TRY(wait_for(ticket));
  return ticket.transfer_;
}

Result<std::byte*> Fetcher::place(Rank from, WindowTicket& asked, std::size_t piece,
                                  const FrameHeader& header, std::size_t body_bytes) {
  auto& ticket = static_cast<Ticket&>(asked);
  Ticket::Piece& part = ticket.pieces_[piece];
  const std::size_t expected = part.rows * ticket.row_bytes_;
  if (body_bytes != expected || header.rows != part.rows || header.table != ticket.table_) {
    return Error{Errc::kPeer,
                 fmt::format("{} answered a pull of {} rows of table {} ({} bytes) with {} rows of table "
                             "{} ({} bytes)",
                             names_.of(from), part.rows, ticket.table_, expected, header.rows, header.table,
                             body_bytes)};
  }
  if (ticket.keep_ != nullptr) {
    return ticket.destination_ + part.first * ticket.row_bytes_;
  }
  part.block = pools_.rows.take(expected);
  return part.block.data();
}

void Fetcher::take(Rank from, WindowTicket& asked, std::size_t piece, const FrameHeader& /*header*/,
                   std::size_t body_bytes, Duration latency) {
  auto& ticket = static_cast<Ticket&>(asked);
  const Ticket::Piece& part = ticket.pieces_[piece];
  if (ticket.keep_ == nullptr) {
    std::memcpy(ticket.destination_ + part.first * ticket.row_bytes_, part.block.data(), body_bytes);
  }
  figures_.answered(from, latency, part.rows, body_bytes);
  meter_.answered(from, latency, part.rows);
  ticket.transfer_ += Transfer{part.rows, body_bytes, body_bytes + part.id_bytes + 2 * kSealedHeaderBytes, 2};
}

void Fetcher::drop(WindowTicket& asked, std::size_t piece) {
  pools_.rows.give(std::move(static_cast<Ticket&>(asked).pieces_[piece].block));
}

}  // namespace rudder::dataplane

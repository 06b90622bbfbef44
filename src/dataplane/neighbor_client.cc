// SPDX-License-Identifier: Apache-2.0
#include "dataplane/neighbor_client.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"

namespace rudder::dataplane {

NeighborClient::NeighborClient(const graph::PartitionBook& book, EdgeIndex max_degree,
                               const PlaneOptions& options, const PeerNames& names,
                               transport::Transport& transport, Pools& pools)
    : RequestWindow(options, kCredits, names, transport, pools),
      book_(book),
      max_degree_(static_cast<std::uint64_t>(max_degree)) {}

std::uint64_t NeighborClient::most_of(int fanout) const noexcept {
  const std::uint64_t most = std::min<std::uint64_t>(max_degree_, std::numeric_limits<std::uint32_t>::max());
  return fanout < 0 ? most : std::min<std::uint64_t>(most, static_cast<std::uint64_t>(fanout));
}

std::vector<std::vector<RequestWindow::Request>> NeighborClient::cut(AskTicket& ticket,
                                                                     std::span<const NodeId> nodes,
                                                                     const sample::HopRule& rule) const {
  std::vector<std::vector<Request>> by_owner(options_.world);
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
    Request request;
    request.piece = ticket.runs_.size();
    request.header = {FrameType::kAsk, 0, narrow<std::uint32_t>(rows), 0};
    request.body = pools_.small.take(encoded.size());
    request.body_bytes = encoded.size();
    std::memcpy(request.body.data(), encoded.data(), encoded.size());
    by_owner[owner].push_back(std::move(request));
    AskedRun& run = ticket.runs_.emplace_back();
    run.first = first;
    run.rows = rows;
    run.ask_bytes = encoded.size();
    first += rows;
  }
  return by_owner;
}

std::shared_ptr<AskTicket> NeighborClient::ask(std::span<const NodeId> nodes, const sample::HopRule& rule) {
  auto ticket = std::make_shared<AskTicket>();
  ticket->most_ = most_of(rule.fanout);
  submit(ticket, cut(*ticket, nodes, rule));
  return ticket;
}

Result<std::vector<AskedRun>> NeighborClient::wait(AskTicket& ticket) {
  RUDDER_TRY(wait_for(ticket));
  return std::move(ticket.runs_);
}

Result<std::byte*> NeighborClient::place(Rank from, WindowTicket& asked, std::size_t piece,
                                         const FrameHeader& header, std::size_t body_bytes) {
  auto& ticket = static_cast<AskTicket&>(asked);
  AskedRun& run = ticket.runs_[piece];
  const DrawnLimits limits{book_.nodes(), ticket.most_};
  if (header.table != 0 || header.rows == 0 || header.rows > run.rows || body_bytes == 0 ||
      body_bytes > limits.body_bytes(header.rows)) {
    return Error{Errc::kPeer, fmt::format("{} answered an ask about {} nodes with {} bytes for {} nodes",
                                          names_.of(from), run.rows, body_bytes, header.rows)};
  }
  run.body = pools_.rows.take(body_bytes);
  return run.body.data();
}

void NeighborClient::take(Rank /*from*/, WindowTicket& asked, std::size_t piece, const FrameHeader& header,
                          std::size_t body_bytes, Duration /*latency*/) {
  AskedRun& run = static_cast<AskTicket&>(asked).runs_[piece];
  run.answered = header.rows;
  run.body_bytes = body_bytes;
}

Status NeighborClient::decode(AskedRun& run, const sample::HopRule& rule, sample::DrawnNeighbors& out) {
  const DrawnLimits limits{book_.nodes(), most_of(rule.fanout)};
  const Status done = decode_drawn(limits, run.answered, run.body.bytes().first(run.body_bytes), out);
  pools_.rows.give(std::move(run.body));
  return done;
}

}  // namespace rudder::dataplane

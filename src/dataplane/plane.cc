// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/plane.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/log.h"
#include "rudder/dataplane/wire.h"

#include "dataplane/fetcher.h"
#include "dataplane/handshake.h"
#include "dataplane/neighbor_client.h"
#include "dataplane/neighbor_server.h"
#include "dataplane/pings.h"
#include "dataplane/plane_setup.h"
#include "dataplane/sealed_transport.h"
#include "dataplane/server.h"

namespace rudder::dataplane {
class Plane::Impl final : public transport::Receiver {
 public:
  Impl(const graph::PartitionedGraph& graph, std::unique_ptr<transport::Transport> transport,
       PlaneOptions options)
      : options_(std::move(options)),
        meta_(graph.meta()),
        names_(options_.world),
        handshake_(make_hello(graph, options_), options_.secret, names_),
        complained_of_(options_.world),
        book_(graph.book().grouped(options_.parts_each)),
        transport_(std::move(transport)),
        sealed_(*transport_, handshake_, options_.world),
        fetcher_(book_, options_, names_, sealed_, pools_),
        server_(book_.begin(options_.rank), book_.end(options_.rank), options_.deadline / 2, sealed_, pools_),
        asker_(book_, graph.meta().max_degree, options_, names_, sealed_, pools_),
        drawer_(own_slice(graph, options_), options_.world, sealed_, pools_),
        pings_(options_, names_, fetcher_, sealed_) {
    if (!graph.has_topology() && book_.size(options_.rank) > 0) {
      degrees_ = degrees_of(graph.slice(options_.rank));
      server_.publish(kDegreeTable, {std::as_bytes(std::span(degrees_))}, sizeof(std::uint32_t));
    }
  }
  ~Impl() override {
    server_.stop();
    drawer_.stop();
    cancel(Error{Errc::kCancelled, "the data plane was shut down"});
    // No callback runs after this; the pools are still there for what it gives back. Not reset(), which would
    // clear the pointer first, while callbacks may still be sending through it.
    std::default_delete<transport::Transport>()(transport_.get());
    static_cast<void>(transport_.release());
  }

  Status meet(transport::Rendezvous& rendezvous);

  std::byte* landing(Rank from, std::span<const std::byte> header, std::size_t body_bytes) override;
  void received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) override;
  void peer_failed(Rank peer, const Error& error) override;

  [[nodiscard]] std::vector<std::string> find_failed_peers(Duration patience) {
    return pings_.find_failed_peers(patience);
  }
  [[nodiscard]] const PlaneOptions& options() const { return options_; }
  [[nodiscard]] Fetcher& fetcher() { return fetcher_; }
  [[nodiscard]] Server& server() { return server_; }
  [[nodiscard]] DType wire_type() const { return options_.wire.value_or(meta_.dtype); }
  void publish(std::uint8_t table, std::vector<std::span<const std::byte>> runs, std::size_t row_bytes) {
    const bool narrowed = table == 0 && wire_type() != meta_.dtype;
    server_.publish(table, std::move(runs), row_bytes, narrowed ? options_.wire : std::nullopt);
  }
  [[nodiscard]] NeighborClient& asker() { return asker_; }
  void cancel(const Error& error) {
    fetcher_.cancel(error);
    asker_.cancel(error);
  }
  [[nodiscard]] transport::TransportCounters counters() const { return transport_->counters(); }
  [[nodiscard]] std::uint64_t discarded() const { return discarded_.load(std::memory_order_relaxed); }

 private:
  /// The body of a frame that is neither rows nor pong, while it arrives. A peer may have as many of them as
  /// it may be owed answers.
  struct Arriving {
    Rank from = 0;
    AlignedBytes block;
  };

  [[nodiscard]] std::size_t body_limit(Rank from, const FrameHeader& header, std::size_t body_bytes);
  [[nodiscard]] std::byte* land(Rank from, std::size_t body_bytes);
  [[nodiscard]] AlignedBytes take_arrived(std::span<const std::byte> body);
  void handle(Rank from, const FrameHeader& header, std::span<std::byte> body);
  /// Where answers of this type are waited for.
  [[nodiscard]] RequestWindow& window_of(FrameType type) {
    if (type == FrameType::kRows || type == FrameType::kRefused) {
      return fetcher_;
    }
    return asker_;
  }
  /// Says once for each peer that knows the secret that it breaks the protocol.
  void complain(Rank from, const Error& error);
  void discard() { discarded_.fetch_add(1, std::memory_order_relaxed); }

  const PlaneOptions options_;
  const graph::GraphMeta& meta_;
  Pools pools_;
  PeerNames names_;
  Handshake handshake_;

  std::vector<Arriving> arriving_;  ///< the progress thread's, as is the next one
  std::vector<bool> complained_of_;
  // A plain count, read for reports only: relaxed.
  std::atomic<std::uint64_t> discarded_{0};

  const graph::PartitionBook book_;  ///< of the ranks
  std::unique_ptr<transport::Transport> transport_;
  SealedTransport sealed_;
  Fetcher fetcher_;
  Server server_;
  NeighborClient asker_;
  NeighborServer drawer_;
  Pings pings_;
  std::vector<std::uint32_t> degrees_;  ///< of owned nodes, for kDegreeTable
};

Status Plane::Impl::meet(transport::Rendezvous& rendezvous) {
  const Deadline deadline = Deadline::in(options_.deadline);
  RUDDER_TRY(transport_->start(*this));
  RUDDER_ASSIGN(const std::vector<std::string> addresses,
                transport::exchange(rendezvous, options_.session, options_.rank, options_.world,
                                    transport_->address(), deadline));
  RUDDER_TRY(transport_->connect(addresses, deadline));
  const std::vector<std::byte>& hello = handshake_.hello();
  for (Rank r = 0; r < options_.world; ++r) {
    if (r != options_.rank) {
      AlignedBytes body = pools_.small.take(hello.size());
      std::memcpy(body.data(), hello.data(), hello.size());
      transport_->send(r, std::as_bytes(std::span(kHelloMagic)), std::move(body), hello.size(),
                       [this](AlignedBytes block) { pools_.small.give(std::move(block)); });
    }
  }
  const Status agreed = handshake_.wait(deadline);
  if (!agreed.ok()) {
    // Frames between two ranks keep their order, so who answers a ping has seen our hello and proof, and
    // knows the reason before it sees us leave. Who refuses them does not answer, but has its time too.
    static_cast<void>(pings_.find_failed_peers(std::min<Duration>(options_.deadline, from_seconds(1))));
  }
  return agreed;
}

void Plane::Impl::complain(Rank from, const Error& error) {
  if (!complained_of_[from]) {
    complained_of_[from] = true;
    log_warning(fmt::format("{} breaks the protocol: {}; such frames are dropped, and said once",
                            names_.of(from), error.message));
  }
}

std::byte* Plane::Impl::land(Rank from, std::size_t body_bytes) {
  const auto of_peer = [&](const Arriving& a) { return a.from == from; };
  if (std::count_if(arriving_.begin(), arriving_.end(), of_peer) >= SealedTransport::kMaxOwed) {
    return nullptr;
  }
  arriving_.push_back({from, pools_.small.take(body_bytes)});
  return arriving_.back().block.data();
}

AlignedBytes Plane::Impl::take_arrived(std::span<const std::byte> body) {
  if (body.empty()) {
    return {};
  }
  const auto found = std::find_if(arriving_.begin(), arriving_.end(),
                                  [&](const Arriving& a) { return a.block.data() == body.data(); });
  RUDDER_CHECK(found != arriving_.end(), "a transport gives back the addresses it got");
  AlignedBytes block = std::move(found->block);
  arriving_.erase(found);
  return block;
}

std::size_t Plane::Impl::body_limit(Rank from, const FrameHeader& header, std::size_t body_bytes) {
  switch (header.type) {
    case FrameType::kRefused:
    case FrameType::kAskRefused:
      return kMaxReasonBytes;
    case FrameType::kAsk: {
      const std::size_t limit = drawer_.max_body_bytes(header.rows);
      if (body_bytes > limit && sealed_.owe(from)) {
        drawer_.refuse(from, header, fmt::format("{} bytes to ask about {} nodes", body_bytes, header.rows));
      }
      return limit;
    }
    case FrameType::kPull: {
      const std::size_t limit = server_.max_id_bytes(header.rows);
      if (body_bytes > limit && sealed_.owe(from)) {
        server_.refuse(from, header, fmt::format("{} bytes of ids for {} rows", body_bytes, header.rows));
      }
      return limit;
    }
    default:
      return 0;
  }
}

std::byte* Plane::Impl::landing(Rank from, std::span<const std::byte> header, std::size_t body_bytes) {
  std::byte* address = nullptr;
  const auto inside = handshake_.open(from, header);
  const auto decoded = decode_header(inside.value_or(std::span<const std::byte>{}));
  if (Handshake::is_hello(header)) {
    address = body_bytes <= kMaxHelloBytes ? land(from, body_bytes) : nullptr;
  } else if (inside && !decoded.ok()) {
    complain(from, decoded.error());
  } else if (decoded.ok()) {
    const FrameType type = decoded.value().type;
    if (type == FrameType::kRows || type == FrameType::kDrawn) {
      address = window_of(type).landing(from, decoded.value(), body_bytes);
    } else if (body_bytes <= body_limit(from, decoded.value(), body_bytes)) {
      address = land(from, body_bytes);
    }
  }
  if (address == nullptr) {
    discard();
  }
  return address;
}

void Plane::Impl::received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) {
  if (Handshake::is_hello(header)) {
    const auto proof = handshake_.heard(from, body);
    pools_.small.give(take_arrived(body));
    if (proof) {
      transport_->send(from, *proof, AlignedBytes{}, 0, nullptr);
    }
    return;
  }
  if (const auto proof = decode_proof(header)) {
    handshake_.heard_proof(from, *proof);
    return;
  }
  const auto inside = handshake_.open(from, header);
  const auto decoded =
      decode_header(inside.value_or(header.first(std::min(header.size(), kFrameHeaderBytes))));
  if (!decoded.ok()) {
    handshake_.heard_foreign(from, decoded.error());
    if (inside) {
      complain(from, decoded.error());
    }
  }
  if (!decoded.ok() || !inside) {
    discard();
    return;
  }
  handle(from, decoded.value(), body);
}

void Plane::Impl::handle(Rank from, const FrameHeader& header, std::span<std::byte> body) {
  const bool asks =
      header.type == FrameType::kPull || header.type == FrameType::kPing || header.type == FrameType::kAsk;
  if (asks && !sealed_.owe(from)) {
    complain(from, Error{Errc::kPeer, fmt::format("it asks while {} of its requests are unanswered",
                                                  SealedTransport::kMaxOwed)});
    discard();
    pools_.small.give(take_arrived(body));
    return;
  }
  switch (header.type) {
    case FrameType::kRows:
    case FrameType::kDrawn: {
      // An answer without a body matches no request; landing() says so to who waits for it.
      RequestWindow& window = window_of(header.type);
      if (body.empty() ? window.landing(from, header, 0) == nullptr
                       : !window.received(from, header, body.size())) {
        discard();
      }
      return;
    }
    case FrameType::kPull:
      if (body.empty()) {
        server_.refuse(from, header, "a request without ids");
        return;
      }
      server_.enqueue({from, header, take_arrived(body), body.size()});
      return;
    case FrameType::kAsk:
      if (body.empty()) {
        drawer_.refuse(from, header, "an ask without nodes");
        return;
      }
      drawer_.enqueue({from, header, take_arrived(body), body.size()});
      return;
    case FrameType::kRefused:
    case FrameType::kAskRefused: {
      const std::string reason = printable(body);
      pools_.small.give(take_arrived(body));
      if (!window_of(header.type).refused(from, header, reason)) {
        discard();
      }
      return;
    }
    case FrameType::kPing:
      pings_.answer(from, header);
      return;
    case FrameType::kPong:
      pings_.heard(from, header);
      return;
    case FrameType::kHello:
      return;  // decode_header() refuses it
  }
}

void Plane::Impl::peer_failed(Rank peer, const Error& error) {
  std::erase_if(arriving_, [&](const Arriving& a) { return a.from == peer; });
  handshake_.lost(peer, error);
  fetcher_.peer_failed(peer, error);
  asker_.peer_failed(peer, error);
  pings_.peer_failed();
}

Plane::Plane(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Plane::~Plane() = default;

Result<std::unique_ptr<Plane>> Plane::create(const graph::PartitionedGraph& graph,
                                             std::unique_ptr<transport::Transport> transport,
                                             transport::Rendezvous& rendezvous, PlaneOptions options) {
  RUDDER_TRY(check_options(graph, options));
  auto impl = std::make_unique<Impl>(graph, std::move(transport), std::move(options));
  RUDDER_TRY(impl->meet(rendezvous));
  return std::unique_ptr<Plane>(new Plane(std::move(impl)));
}

void Plane::publish(std::uint8_t table, std::vector<std::span<const std::byte>> runs, std::size_t row_bytes) {
  impl_->publish(table, std::move(runs), row_bytes);
}
void Plane::withdraw(std::uint8_t table) {
  impl_->server().withdraw(table);
}
std::shared_ptr<Ticket> Plane::pull(std::uint8_t table, std::span<const NodeId> ids, std::size_t row_bytes,
                                    std::byte* destination, std::shared_ptr<const void> keep) {
  return impl_->fetcher().pull(table, ids, row_bytes, destination, std::move(keep));
}
Result<Transfer> Plane::wait(const std::shared_ptr<Ticket>& ticket) {
  return impl_->fetcher().wait(*ticket);
}
void Plane::abandon(const std::shared_ptr<Ticket>& ticket) {
  impl_->fetcher().abandon(*ticket);
}
std::vector<std::string> Plane::find_failed_peers(Duration patience) {
  return impl_->find_failed_peers(patience);
}
std::unique_ptr<sample::RemoteNeighbors> Plane::remote_neighbors() {
  return make_remote_neighbors(impl_->asker());
}
void Plane::cancel(const Error& error) {
  impl_->cancel(error);
}
transport::TransportCounters Plane::counters() const {
  return impl_->counters();
}
double Plane::traffic(std::span<OwnerTraffic> owners) const noexcept {
  return impl_->fetcher().meter().read(owners);
}
DType Plane::wire_type() const noexcept {
  return impl_->wire_type();
}
NarrowingError Plane::narrowing_error() const {
  return impl_->server().narrowing_error();
}
std::uint64_t Plane::discarded_frames() const {
  return impl_->discarded();
}
const PlaneOptions& Plane::options() const noexcept {
  return impl_->options();
}

}  // namespace rudder::dataplane

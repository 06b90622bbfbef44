// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "rudder/core/machine.h"
#include "rudder/transport/token_bucket.h"
#include "rudder/transport/transport.h"

#include "transport/outstanding.h"
#include "transport/timed_queue.h"

namespace rudder::transport {
namespace {

using Recycle = std::function<void(AlignedBytes)>;

/// A message on its way out or in; `peer` is its receiver or its sender.
struct ShapedMessage {
  Rank peer = 0;
  std::size_t header_bytes = 0;
  std::array<std::byte, kMaxHeaderBytes> header;
  AlignedBytes body;
  std::size_t body_bytes = 0;
  Recycle recycle;

  void set_header(std::span<const std::byte> bytes) {
    header_bytes = bytes.size();
    std::copy(bytes.begin(), bytes.end(), header.begin());
  }
  [[nodiscard]] std::span<const std::byte> header_span() const { return {header.data(), header_bytes}; }
};

/// A body that the inner transport is done with.
struct ReturnedBody {
  Rank to = 0;
  AlignedBytes body;
  Recycle recycle;
};

struct Failure {
  Rank peer = 0;
  Error error;
};

using ShapedEvent = std::variant<ShapedMessage, ReturnedBody, Failure>;

constexpr Rank kNobody = std::numeric_limits<Rank>::max();

/// One direction of the link. Thread-safe.
class Lane {
 public:
  Lane(double bytes_per_second, std::size_t burst_bytes)
      : rate_(bytes_per_second), bucket_(bytes_per_second, burst_bytes, steady_clock().now()) {}

  /// When `bytes` that are ready now will have gone out.
  [[nodiscard]] TimePoint leave(std::size_t bytes) {
    const TimePoint now = steady_clock().now();
    const std::lock_guard lock(mutex_);
    return last_ = bucket_.take(bytes, now);
  }

  /// When `bytes` whose last one is here now will have come in. They began to come in while they went out at
  /// the other end, so an idle lane adds nothing; one shared by several senders does.
  [[nodiscard]] TimePoint arrive(std::size_t bytes) {
    const TimePoint now = steady_clock().now();
    const TimePoint begun = now - from_seconds(static_cast<double>(bytes) / rate_);
    const std::lock_guard lock(mutex_);
    return last_ = std::max({now, last_, bucket_.take(bytes, begun)});
  }

  /// After everything so far.
  [[nodiscard]] TimePoint last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  const double rate_;
  std::mutex mutex_;
  TokenBucket bucket_;
  TimePoint last_{};
};

/// Outgoing messages wait in `departures_` for a thread that hands them to the inner transport. Incoming
/// ones, bodies given back and failures wait in `arrivals_` for the thread that is this transport's progress
/// thread: it alone calls the receiver and recycles. Incoming bodies wait in memory of our own.
class Shaped final : public Transport, private Receiver {
 public:
  Shaped(std::unique_ptr<Transport> inner, double bytes_per_second, std::size_t burst_bytes)
      : inner_(std::move(inner)), out_(bytes_per_second, burst_bytes), in_(bytes_per_second, burst_bytes) {}
  ~Shaped() override;

  std::string name() const override { return fmt::format("shaped {}", inner_->name()); }
  std::string address() const override { return inner_->address(); }
  Status start(Receiver& receiver) override;
  Status connect(std::span<const std::string> addresses, Deadline deadline) override;
  void send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
            Recycle recycle) override;
  Status flush(Deadline deadline) override;
  TransportCounters counters() const override { return inner_->counters(); }

 private:
  // Called on the inner transport's progress thread.
  std::byte* landing(Rank from, std::span<const std::byte> header, std::size_t body_bytes) override;
  void received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) override;
  void peer_failed(Rank peer, const Error& error) override;

  void depart(ShapedMessage message);
  void handle(ShapedMessage message);
  void handle(ReturnedBody returned);
  void handle(Failure failure);

  std::unique_ptr<Transport> inner_;
  Receiver* receiver_ = nullptr;  ///< set before the threads start
  // Relaxed: set by connect(), before which nobody can send to himself.
  std::atomic<Rank> self_{kNobody};
  Lane out_;
  Lane in_;
  Outstanding outstanding_;
  /// Memory for bodies on their way in, with their senders. Inner progress thread only.
  std::map<const std::byte*, std::pair<Rank, AlignedBytes>> rooms_;
  TimedQueue<ShapedMessage> departures_;
  TimedQueue<ShapedEvent> arrivals_;
  std::jthread departing_;
  std::jthread arriving_;
};

Shaped::~Shaped() {
  departures_.close();
  arrivals_.close();
  if (departing_.joinable()) {
    departing_.join();
    arriving_.join();
  }
  inner_.reset();  // calls the private receiver until it has gone
}

Status Shaped::start(Receiver& receiver) {
  if (receiver_ != nullptr) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: started twice", name())};
  }
  receiver_ = &receiver;
  RUDDER_TRY(inner_->start(*this));
  departing_ = std::jthread([this] {
    name_this_thread("shaped out");
    while (std::optional<ShapedMessage> message = departures_.pop()) {
      depart(std::move(*message));
    }
  });
  arriving_ = std::jthread([this] {
    name_this_thread("shaped in");
    while (std::optional<ShapedEvent> event = arrivals_.pop()) {
      std::visit([this](auto& what) { handle(std::move(what)); }, *event);
    }
  });
  return {};
}

Status Shaped::connect(std::span<const std::string> addresses, Deadline deadline) {
  const auto mine = std::find(addresses.begin(), addresses.end(), inner_->address());
  if (mine != addresses.end()) {
    self_.store(static_cast<Rank>(mine - addresses.begin()), std::memory_order_relaxed);
  }
  return inner_->connect(addresses, deadline);
}

void Shaped::send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
                  Recycle recycle) {
  RUDDER_CHECK(header.size() <= kMaxHeaderBytes, "send: header too long");
  RUDDER_CHECK(body_bytes <= body.size(), "send: body shorter than body_bytes");
  ShapedMessage message;
  message.peer = to;
  message.set_header(header);
  message.body = std::move(body);
  message.body_bytes = body_bytes;
  message.recycle = std::move(recycle);
  outstanding_.add(to);
  const bool to_self = to == self_.load(std::memory_order_relaxed);
  const TimePoint due = to_self ? steady_clock().now() : out_.leave(header.size() + body_bytes);
  departures_.push(due, std::move(message));
}

Status Shaped::flush(Deadline deadline) {
  RUDDER_TRY(outstanding_.wait(name(), deadline));
  return inner_->flush(deadline);
}

void Shaped::depart(ShapedMessage message) {
  const Rank to = message.peer;
  inner_->send(to, message.header_span(), std::move(message.body), message.body_bytes,
               [this, to, recycle = std::move(message.recycle)](AlignedBytes body) {
                 arrivals_.push(steady_clock().now(), ReturnedBody{to, std::move(body), recycle});
               });
}

std::byte* Shaped::landing(Rank from, std::span<const std::byte> /*header*/, std::size_t body_bytes) {
  AlignedBytes room(body_bytes);
  std::byte* const place = room.data();
  rooms_.emplace(place, std::pair(from, std::move(room)));
  return place;
}

void Shaped::received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) {
  ShapedMessage message;
  message.peer = from;
  message.set_header(header);
  message.body_bytes = body.size();
  if (!body.empty()) {
    message.body = std::move(rooms_.extract(body.data()).mapped().second);
  }
  const bool from_self = from == self_.load(std::memory_order_relaxed);
  const TimePoint due = from_self ? steady_clock().now() : in_.arrive(header.size() + body.size());
  arrivals_.push(due, std::move(message));
}

void Shaped::peer_failed(Rank peer, const Error& error) {
  std::erase_if(rooms_, [&](const auto& room) { return room.second.first == peer; });
  arrivals_.push(std::max(in_.last(), steady_clock().now()), Failure{peer, error});
}

void Shaped::handle(ShapedMessage message) {
  if (message.body_bytes == 0) {
    receiver_->received(message.peer, message.header_span(), {});
    return;
  }
  std::byte* const place = receiver_->landing(message.peer, message.header_span(), message.body_bytes);
  if (place == nullptr) {
    return;
  }
  std::memcpy(place, message.body.data(), message.body_bytes);
  receiver_->received(message.peer, message.header_span(), {place, message.body_bytes});
}

void Shaped::handle(ReturnedBody returned) {
  if (returned.recycle) {
    returned.recycle(std::move(returned.body));
  }
  outstanding_.remove(returned.to);
}

void Shaped::handle(Failure failure) {
  receiver_->peer_failed(failure.peer, failure.error);
}

}  // namespace

std::unique_ptr<Transport> make_shaped_transport(std::unique_ptr<Transport> inner, double bits_per_second,
                                                 std::size_t burst_bytes) {
  RUDDER_CHECK(bits_per_second > 0, "a shaped link needs a positive rate");
  return std::make_unique<Shaped>(std::move(inner), bits_per_second / 8, burst_bytes);
}

}  // namespace rudder::transport

// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "rudder/core/machine.h"
#include "rudder/transport/transport.h"

#include "transport/outstanding.h"
#include "transport/rank_list.h"
#include "transport/tally.h"

namespace rudder::transport {
namespace {

struct Message {
  Rank from = 0;
  std::size_t header_bytes = 0;
  std::array<std::byte, kMaxHeaderBytes> header;
  AlignedBytes body;
  std::size_t body_bytes = 0;
  std::function<void(AlignedBytes)> recycle;
};

/// A body on its way back to its sender.
struct Returned {
  Rank to = 0;
  AlignedBytes body;
  std::function<void(AlignedBytes)> recycle;
};

struct Closed {
  Rank peer = 0;
};

using Event = std::variant<Message, Returned, Closed>;

/// What one endpoint has still to handle. Thread-safe; stays in the hub after its endpoint has gone.
class Inbox {
 public:
  /// False, with `event` untouched, once closed. `bytes` are added to `tally` before anybody can see the
  /// event.
  bool push(Event& event, Tally& tally, std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) {
        return false;
      }
      tally.sent(bytes);
      events_.push_back(std::move(event));
    }
    filled_.notify_one();
    return true;
  }

  bool push(Event& event) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) {
        return false;
      }
      events_.push_back(std::move(event));
    }
    filled_.notify_one();
    return true;
  }

  /// Waits for the next event; nothing once closed, even when events are left.
  std::optional<Event> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !events_.empty(); });
    if (closed_) {
      return std::nullopt;
    }
    std::optional<Event> event(std::move(events_.front()));
    events_.pop_front();
    return event;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
  }

  /// What was left when the inbox closed.
  std::deque<Event> take_rest() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Event> events_;
  bool closed_ = false;
};

enum class State : unsigned char { kNew, kStarted, kClosed };

/// Shared by the endpoints, which come and go in any order: hence shared ownership.
struct Hub {
  explicit Hub(Rank world) : inboxes(world), states(world, State::kNew) {}

  void set_state(Rank rank, State state) {
    {
      const std::lock_guard lock(mutex);
      states[rank] = state;
    }
    changed.notify_all();
  }

  std::vector<Inbox> inboxes;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<State> states;  ///< guarded by mutex
};

class Loopback final : public Transport {
 public:
  Loopback(std::shared_ptr<Hub> hub, Rank rank) : hub_(std::move(hub)), rank_(rank) {}
  ~Loopback() override;

  std::string name() const override { return "loopback"; }
  std::string address() const override { return address_of(rank_); }
  Status start(Receiver& receiver) override;
  Status connect(std::span<const std::string> addresses, Deadline deadline) override;
  void send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
            std::function<void(AlignedBytes)> recycle) override;
  Status flush(Deadline deadline) override;
  TransportCounters counters() const override { return tally_.read(); }

 private:
  [[nodiscard]] Rank world() const { return narrow<Rank>(hub_->inboxes.size()); }
  [[nodiscard]] std::string address_of(Rank rank) const {
    return fmt::format("loopback:{}:{}", fmt::ptr(hub_.get()), rank);
  }
  void run();
  void handle(Message message);
  void handle(Returned returned);
  void handle(Closed closed);
  /// Sends a delivered or dropped body home; a sender that has gone needs it no more.
  void give_back(Rank sender, Rank to, AlignedBytes body, std::function<void(AlignedBytes)> recycle);

  const std::shared_ptr<Hub> hub_;
  const Rank rank_;
  Receiver* receiver_ = nullptr;  ///< set before the progress thread starts
  Tally tally_;

  Outstanding outstanding_;
  std::jthread progress_;
};

Loopback::~Loopback() {
  Inbox& inbox = hub_->inboxes[rank_];
  inbox.close();
  if (progress_.joinable()) {
    progress_.join();
  }
  for (Event& event : inbox.take_rest()) {
    if (auto* message = std::get_if<Message>(&event)) {
      give_back(message->from, rank_, std::move(message->body), std::move(message->recycle));
    }
  }
  hub_->set_state(rank_, State::kClosed);
  for (Rank peer = 0; peer < world(); ++peer) {
    Event event = Closed{rank_};
    hub_->inboxes[peer].push(event);
  }
}

Status Loopback::start(Receiver& receiver) {
  if (receiver_ != nullptr) {
    return Error{Errc::kInvalidArgument, fmt::format("loopback rank {}: started twice", rank_)};
  }
  receiver_ = &receiver;
  progress_ = std::jthread([this] { run(); });
  hub_->set_state(rank_, State::kStarted);
  return {};
}

Status Loopback::connect(std::span<const std::string> addresses, Deadline deadline) {
  if (receiver_ == nullptr) {
    return Error{Errc::kInvalidArgument, fmt::format("loopback rank {}: connect before start", rank_)};
  }
  if (addresses.size() != world()) {
    return Error{Errc::kInvalidArgument, fmt::format("loopback rank {}: {} addresses for a world of {}",
                                                     rank_, addresses.size(), world())};
  }
  for (Rank peer = 0; peer < world(); ++peer) {
    if (addresses[peer] != address_of(peer)) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("loopback rank {}: address of rank {} is '{}', not '{}'", rank_, peer,
                               addresses[peer], address_of(peer))};
    }
  }
  std::unique_lock lock(hub_->mutex);
  const auto ranks_in = [&](State state) {
    std::vector<Rank> ranks;
    for (Rank peer = 0; peer < world(); ++peer) {
      if (hub_->states[peer] == state) {
        ranks.push_back(peer);
      }
    }
    return ranks;
  };
  hub_->changed.wait_until(lock, deadline.at(), [&] {
    return ranks_in(State::kNew).empty() || !ranks_in(State::kClosed).empty();
  });
  if (const auto closed = ranks_in(State::kClosed); !closed.empty()) {
    return Error{Errc::kPeer, fmt::format("loopback rank {}: {} closed", rank_, rank_list(closed))};
  }
  if (const auto missing = ranks_in(State::kNew); !missing.empty()) {
    return Error{Errc::kTimeout,
                 fmt::format("loopback rank {}: {} did not start in time", rank_, rank_list(missing))};
  }
  return {};
}

void Loopback::send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
                    std::function<void(AlignedBytes)> recycle) {
  RUDDER_CHECK(to < world(), "send: no such rank");
  RUDDER_CHECK(header.size() <= kMaxHeaderBytes, "send: header too long");
  RUDDER_CHECK(body_bytes <= body.size(), "send: body shorter than body_bytes");
  outstanding_.add(to);
  Event event(std::in_place_type<Message>);
  auto& message = *std::get_if<Message>(&event);
  message.from = rank_;
  message.header_bytes = header.size();
  std::copy(header.begin(), header.end(), message.header.begin());
  message.body = std::move(body);
  message.body_bytes = body_bytes;
  message.recycle = std::move(recycle);
  if (!hub_->inboxes[to].push(event, tally_, header.size() + body_bytes)) {
    give_back(rank_, to, std::move(message.body), std::move(message.recycle));
  }
}

Status Loopback::flush(Deadline deadline) {
  return outstanding_.wait(fmt::format("loopback rank {}", rank_), deadline);
}

void Loopback::run() {
  name_this_thread(fmt::format("loopback {}", rank_));
  while (std::optional<Event> event = hub_->inboxes[rank_].pop()) {
    std::visit([this](auto& what) { handle(std::move(what)); }, *event);
  }
}

void Loopback::handle(Message message) {
  const std::span<const std::byte> header(message.header.data(), message.header_bytes);
  tally_.received(message.header_bytes + message.body_bytes);
  if (message.body_bytes == 0) {
    receiver_->received(message.from, header, {});
  } else if (std::byte* landing = receiver_->landing(message.from, header, message.body_bytes)) {
    std::memcpy(landing, message.body.data(), message.body_bytes);
    receiver_->received(message.from, header, {landing, message.body_bytes});
  }
  give_back(message.from, rank_, std::move(message.body), std::move(message.recycle));
}

void Loopback::handle(Returned returned) {
  if (returned.recycle) {
    returned.recycle(std::move(returned.body));
  }
  outstanding_.remove(returned.to);
}

void Loopback::handle(Closed closed) {
  receiver_->peer_failed(closed.peer,
                         {Errc::kPeer, fmt::format("loopback rank {}: rank {} closed", rank_, closed.peer)});
}

void Loopback::give_back(Rank sender, Rank to, AlignedBytes body, std::function<void(AlignedBytes)> recycle) {
  Event event(std::in_place_type<Returned>, Returned{to, std::move(body), std::move(recycle)});
  hub_->inboxes[sender].push(event);
}

}  // namespace

std::vector<std::unique_ptr<Transport>> make_loopback_transports(Rank world) {
  const auto hub = std::make_shared<Hub>(world);
  std::vector<std::unique_ptr<Transport>> endpoints;
  for (Rank rank = 0; rank < world; ++rank) {
    endpoints.push_back(std::make_unique<Loopback>(hub, rank));
  }
  return endpoints;
}

}  // namespace rudder::transport

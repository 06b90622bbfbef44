// SPDX-License-Identifier: Apache-2.0
// A transport whose peer is the test: it sees what was sent and delivers what it likes, step by step.
#pragma once

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "rudder/dataplane/wire.h"
#include "rudder/transport/transport.h"

namespace rudder::dataplane::testing_support {

struct SentMessage {
  Rank to = 0;
  std::vector<std::byte> header;
  std::vector<std::byte> body;

  [[nodiscard]] FrameHeader frame() const {
    return decode_header(std::span(header).first(kFrameHeaderBytes)).value();
  }
  [[nodiscard]] bool is_hello() const { return header.size() == kHelloMagic.size(); }
  [[nodiscard]] bool is_proof() const { return decode_proof(header).has_value(); }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const std::byte b : body) {
      out += static_cast<char>(b);
    }
    return out;
  }
};

class ManualTransport final : public transport::Transport {
 public:
  /// `greetings`: hello bodies that arrive when the plane connects, by rank (empty: none). Their senders know
  /// `secret`: they prove it once the plane has sent its hello.
  ManualTransport(std::vector<std::vector<std::byte>> greetings, const Secret& secret)
      : greetings_(std::move(greetings)), secret_(secret), seals_(greetings_.size()) {}
  /// Called when the plane connects, before the greetings arrive.
  std::function<void(ManualTransport&)> before_greetings;

  std::string name() const override { return "manual"; }
  std::string address() const override { return "manual"; }
  Status start(transport::Receiver& receiver) override {
    receiver_ = &receiver;
    return {};
  }
  Status connect(std::span<const std::string> /*addresses*/, Deadline /*deadline*/) override {
    if (before_greetings) {
      before_greetings(*this);
    }
    for (Rank r = 0; r < greetings_.size(); ++r) {
      if (!greetings_[r].empty()) {
        deliver(r, std::as_bytes(std::span(kHelloMagic)), greetings_[r]);
      }
    }
    return {};
  }
  void send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
            std::function<void(AlignedBytes)> recycle) override {
    {
      const std::lock_guard lock(mutex_);
      const auto bytes = body.bytes().first(body_bytes);
      sent_.push_back({to, {header.begin(), header.end()}, {bytes.begin(), bytes.end()}});
    }
    arrived_.notify_all();
    if (header.size() == kHelloMagic.size() && !greetings_[to].empty()) {
      prove(to, body.bytes().first(body_bytes));
    }
    if (recycle) {
      recycle(std::move(body));
    }
  }
  Status flush(Deadline /*deadline*/) override { return {}; }
  transport::TransportCounters counters() const override { return {}; }

  transport::Receiver& receiver() { return *receiver_; }
  /// The next message that belongs to no handshake; nothing when none comes in ten seconds.
  std::optional<SentMessage> next_sent() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!arrived_.wait_until(lock, Deadline::in(from_seconds(10)).at(), [&] { return !sent_.empty(); })) {
        return std::nullopt;
      }
      SentMessage message = std::move(sent_.front());
      sent_.pop_front();
      if (!message.is_hello() && !message.is_proof()) {
        EXPECT_THAT(std::span(message.header).subspan(kFrameHeaderBytes),
                    testing::ElementsAreArray(seals_[message.to].to_peer));
        return message;
      }
    }
  }
  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return sent_.size();
  }
  /// A whole message in one go. False when the plane refused its body.
  bool deliver(Rank from, std::span<const std::byte> header, std::span<const std::byte> body) {
    if (body.empty()) {
      receiver_->received(from, header, {});
      return true;
    }
    std::byte* landing = receiver_->landing(from, header, body.size());
    if (landing == nullptr) {
      return false;
    }
    std::memcpy(landing, body.data(), body.size());
    receiver_->received(from, header, {landing, body.size()});
    return true;
  }
  bool deliver(Rank from, const FrameHeader& header, std::span<const std::byte> body) {
    return deliver(from, sealed(from, header), body);
  }
  /// A header as rank `from` sends it.
  [[nodiscard]] std::vector<std::byte> sealed(Rank from, const FrameHeader& header) const {
    std::array<std::byte, kFrameHeaderBytes> bytes{};
    encode_header(header, bytes);
    return sealed(from, bytes);
  }
  [[nodiscard]] std::vector<std::byte> sealed(Rank from, std::span<const std::byte> header) const {
    std::vector<std::byte> bytes(header.begin(), header.end());
    bytes.insert(bytes.end(), seals_[from].from_peer.begin(), seals_[from].from_peer.end());
    return bytes;
  }

 private:
  struct Seals {
    Seal from_peer{};
    Seal to_peer{};
  };

  void prove(Rank peer, std::span<const std::byte> hello) {
    seals_[peer] = {compute_seal(secret_, greetings_[peer], hello),
                    compute_seal(secret_, hello, greetings_[peer])};
    deliver(peer, encode_proof(seals_[peer].from_peer), {});
  }

  std::vector<std::vector<std::byte>> greetings_;
  Secret secret_;
  std::vector<Seals> seals_;
  transport::Receiver* receiver_ = nullptr;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<SentMessage> sent_;
};

}  // namespace rudder::dataplane::testing_support

// SPDX-License-Identifier: Apache-2.0
// A rank that the test plays over a real transport: it may keep to the protocol or not.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "rudder/dataplane/wire.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

namespace rudder::dataplane::testing_support {

/// Rank 1 of two; the other one is a plane. Its transport goes first.
class PlayedPeer final : public transport::Receiver {
 public:
  using Bytes = std::vector<std::byte>;
  struct Message {
    Bytes header;
    Bytes body;
  };

  PlayedPeer(std::unique_ptr<transport::Transport> end, Bytes hello, const Secret& secret)
      : hello_(std::move(hello)), secret_(secret), end_(std::move(end)) {}
  ~PlayedPeer() override { end_.reset(); }

  /// What it does when the plane's hello has come, on the progress thread; by default it proves the secret.
  std::function<void(PlayedPeer&)> on_hello = [](PlayedPeer& peer) {
    peer.send(encode_proof(peer.seal()), {});
  };

  /// Connects and sends its hello.
  Status meet(transport::Rendezvous& rendezvous, const std::string& session) {
    RUDDER_TRY(end_->start(*this));
    const Deadline deadline = Deadline::in(from_seconds(20));
    RUDDER_ASSIGN(const auto addresses,
                  transport::exchange(rendezvous, session, 1, 2, end_->address(), deadline));
    RUDDER_TRY(end_->connect(addresses, deadline));
    if (!hello_.empty()) {
      send(std::as_bytes(std::span(kHelloMagic)), hello_);
    }
    return {};
  }

  [[nodiscard]] const Bytes& hello() const { return hello_; }
  [[nodiscard]] const Bytes& planes_hello() const { return planes_hello_; }
  /// Of what this peer sends, and of what the plane sends.
  [[nodiscard]] Seal seal() const { return compute_seal(secret_, hello_, planes_hello_); }
  [[nodiscard]] Seal planes_seal() const { return compute_seal(secret_, planes_hello_, hello_); }

  void send(std::span<const std::byte> header, std::span<const std::byte> body) {
    AlignedBytes block(body.size());
    std::copy(body.begin(), body.end(), block.data());
    end_->send(0, header, std::move(block), body.size(), nullptr);
  }
  void send(const FrameHeader& header, std::span<const std::byte> body, const Seal& seal) {
    std::array<std::byte, kSealedHeaderBytes> sealed{};
    encode_header(header, std::span(sealed).first<kFrameHeaderBytes>());
    std::copy(seal.begin(), seal.end(), sealed.begin() + kFrameHeaderBytes);
    send(sealed, body);
  }
  void send(const FrameHeader& header, std::span<const std::byte> body) { send(header, body, seal()); }
  Status flush() { return end_->flush(Deadline::in(from_seconds(20))); }

  /// The next frame from the plane that belongs to no handshake; nothing when none comes in time.
  std::optional<std::pair<FrameHeader, Bytes>> next(Duration patience = from_seconds(20)) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, patience, [&] { return !frames_.empty(); })) {
      return std::nullopt;
    }
    Message message = std::move(frames_.front());
    frames_.pop_front();
    const auto header = decode_header(std::span(message.header).first(kFrameHeaderBytes));
    return std::pair(header.value(), std::move(message.body));
  }
  /// The plane's answer to a ping: everything sent before has been handled by then.
  [[nodiscard]] bool pinged(std::uint64_t number) {
    send(FrameHeader{FrameType::kPing, 0, 0, number}, {});
    while (const auto frame = next()) {
      if (frame->first.type == FrameType::kPong && frame->first.request == number) {
        return true;
      }
    }
    return false;
  }
  /// While held, nothing that comes is taken: messages to this peer stay with the plane.
  [[nodiscard]] std::unique_lock<std::mutex> deafen() { return std::unique_lock(hearing_); }
  [[nodiscard]] std::optional<Seal> planes_proof() {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, from_seconds(20), [&] { return planes_proof_.has_value(); });
    return planes_proof_;
  }

 private:
  std::byte* landing(Rank /*from*/, std::span<const std::byte> /*header*/, std::size_t body_bytes) override {
    Bytes block(body_bytes);
    std::byte* address = block.data();
    landing_.emplace(address, std::move(block));
    return address;
  }
  void received(Rank /*from*/, std::span<const std::byte> header, std::span<std::byte> body) override {
    const std::lock_guard hearing(hearing_);
    Message message{{header.begin(), header.end()}, {}};
    if (!body.empty()) {
      message.body = std::move(landing_.extract(body.data()).mapped());
    }
    if (header.size() == kHelloMagic.size()) {
      planes_hello_ = std::move(message.body);
      on_hello(*this);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      if (const auto proof = decode_proof(header)) {
        planes_proof_ = proof;
      } else {
        frames_.push_back(std::move(message));
      }
    }
    arrived_.notify_all();
  }
  void peer_failed(Rank /*peer*/, const Error& /*error*/) override {}

  const Bytes hello_;
  const Secret secret_;
  Bytes planes_hello_;  ///< written before the plane's first frame comes
  std::map<const std::byte*, Bytes> landing_;
  std::mutex hearing_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> frames_;
  std::optional<Seal> planes_proof_;
  std::unique_ptr<transport::Transport> end_;
};

}  // namespace rudder::dataplane::testing_support

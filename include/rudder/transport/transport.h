// SPDX-License-Identifier: Apache-2.0
// Messages between ranks: a small header and a body that lands where the receiver wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/aligned.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::transport {

inline constexpr std::size_t kMaxHeaderBytes = 256;

/// Gets what peers send. All functions are called on the transport's progress thread, never concurrently;
/// they must not block (hand longer work to another thread).
class Receiver {
 public:
  Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  virtual ~Receiver() = default;

  /// Where the body of an arriving message shall be written: `body_bytes` bytes that stay valid until
  /// received() or peer_failed(). nullptr refuses the message (it is discarded). Headers come from outside:
  /// validate them. Not called for empty bodies.
  virtual std::byte* landing(Rank from, std::span<const std::byte> header, std::size_t body_bytes) = 0;
  /// The whole body is in place. `body` is the span returned by landing().
  virtual void received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) = 0;
  /// The connection to a peer broke, or the peer closed its transport; no more messages from it, and memory
  /// that landing() gave for it is no longer written to. At most once a peer.
  virtual void peer_failed(Rank peer, const Error& error) = 0;
};

/// Bytes handed to and taken from the wire: headers and bodies of this interface, without the framing of the
/// layers below (UCX, TCP, IP).
struct TransportCounters {
  std::uint64_t sent_messages = 0, sent_bytes = 0;
  std::uint64_t received_messages = 0, received_bytes = 0;
};

/// Point-to-point messages between `world` ranks. Order is not promised, not even between one pair: a small
/// message may overtake a large one. Thread-safe apart from start(), connect() and the destructor.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  /// Stops and joins the progress thread; messages not yet sent may be lost (see flush), their bodies are
  /// freed without `recycle`.
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::string name() const = 0;  ///< "ucx", "loopback"
  /// Opaque bytes by which peers reach this endpoint.
  [[nodiscard]] virtual std::string address() const = 0;
  /// `receiver` must outlive the transport. Starts progress; call before connect().
  [[nodiscard]] virtual Status start(Receiver& receiver) = 0;
  /// addresses[r] for every rank, own included; returns when every peer can be sent to. All ranks connect at
  /// the same time: each waits for the others. Messages may arrive before it returns. Errors name the rank.
  [[nodiscard]] virtual Status connect(std::span<const std::string> addresses, Deadline deadline) = 0;
  /// Queues a message and returns; not before connect(), except to answer a message. The header (at most
  /// kMaxHeaderBytes) is copied; the body moves into the transport and is freed after it has left, through
  /// `recycle` when given (called on the progress thread). A message to a failed peer is dropped; its body
  /// comes back like any other. Sending to oneself works, and so does sending from inside a Receiver's
  /// functions.
  virtual void send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
                    std::function<void(AlignedBytes)> recycle) = 0;
  /// Waits until everything queued has left and its bodies have been given back. Not from the progress
  /// thread.
  [[nodiscard]] virtual Status flush(Deadline deadline) = 0;
  [[nodiscard]] virtual TransportCounters counters() const = 0;
};

/// UCX active messages. UCX's own variables (UCX_TLS, UCX_NET_DEVICES, …) are the user's; UCX's log joins
/// that of this program. The progress thread sleeps on UCX's event descriptor when idle. A peer process that
/// dies fails at once; a peer machine that falls silent does not over TCP, which resends for a quarter of an
/// hour: waits for answers need deadlines of their own.
[[nodiscard]] Result<std::unique_ptr<Transport>> make_ucx_transport(Rank rank, Rank world);

/// All ranks in one process; each endpoint has a progress thread, as UCX has.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> make_loopback_transports(Rank world);

/// Token-bucket link of `bits_per_second` (positive) each way, full duplex, in front of `inner`, for machines
/// without network namespaces. Messages leave after their bytes have been paid for, and are delivered once
/// the receiver's side has had time for them too: several senders share its rate, a single one is not delayed
/// twice. `burst_bytes` may go at once. Counts the bytes of TransportCounters; messages to oneself are free.
/// The receiver is called on a thread of the decorator, after bodies have waited in memory of its own;
/// refused bodies have been carried by then.
[[nodiscard]] std::unique_ptr<Transport> make_shaped_transport(std::unique_ptr<Transport> inner,
                                                               double bits_per_second,
                                                               std::size_t burst_bytes);

}  // namespace rudder::transport

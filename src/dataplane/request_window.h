// SPDX-License-Identifier: Apache-2.0
// Requests to owners: which are in flight, which wait for a credit, who owes an answer and until when.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/aligned.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/wire.h"
#include "rudder/transport/transport.h"

#include "dataplane/byte_pool.h"
#include "dataplane/peer_names.h"

namespace rudder::dataplane {

/// Requests that are waited for together: pieces 0, 1, ... of one question. What derives from it says what is
/// asked and holds what comes. All of it is guarded by the window's mutex until wait_for() returns.
class WindowTicket {
 public:
  WindowTicket() = default;
  WindowTicket(const WindowTicket&) = delete;
  WindowTicket& operator=(const WindowTicket&) = delete;
  virtual ~WindowTicket() = default;

  /// The question in words: "a pull of rows of table 0".
  [[nodiscard]] virtual std::string what() const = 0;

 private:
  friend class RequestWindow;
  std::vector<std::uint32_t> owed_;  ///< by rank: requests not answered yet
  std::size_t owed_total_ = 0;
  TimePoint started_;
  std::optional<Error> error_;
  std::condition_variable changed_;
};

/// Keeps up to `credits` requests in flight an owner; more are queued in order. Every request ends in one
/// way: its answer is in place, its owner refuses or answers something else, its owner fails, or nobody wants
/// it any more; the first of these but the first fails the ticket, whose requests that have not been sent are
/// dropped. An answer that nobody waits for matches nothing. Thread-safe; landing(), received(), refused()
/// and peer_failed() are the progress thread's.
///
/// What derives from it says what is asked (submit()) and where answers go (place(), take()). An answer comes
/// in two steps: landing() hands out an address, received() says that the bytes are there. Its ticket may
/// fail between the two, and the address is still written to; the window holds the ticket until drop().
class RequestWindow {
 public:
  RequestWindow(const RequestWindow&) = delete;
  RequestWindow& operator=(const RequestWindow&) = delete;

  /// Stops waiting: requests not sent yet are dropped, wait_for() returns kCancelled.
  void abandon(WindowTicket& ticket);
  /// Fails all tickets, now and later, with the first error that it was called with.
  void cancel(const Error& error);

  /// Address for the body of an answer; nullptr when nothing expects it.
  [[nodiscard]] std::byte* landing(Rank from, const FrameHeader& header, std::size_t body_bytes);
  /// False when nothing expected the answer.
  bool received(Rank from, const FrameHeader& header, std::size_t body_bytes);
  bool refused(Rank from, const FrameHeader& header, std::string_view reason);
  void peer_failed(Rank peer, const Error& error);
  [[nodiscard]] std::optional<Error> failure_of(Rank peer) const;

 protected:
  struct Request {
    std::size_t piece = 0;  ///< of its ticket
    FrameHeader header;     ///< whose number the window fills in
    AlignedBytes body;      ///< of the pool of small blocks
    std::size_t body_bytes = 0;
  };

  /// All references outlive the window.
  RequestWindow(const PlaneOptions& options, std::uint32_t credits, const PeerNames& names,
                transport::Transport& transport, Pools& pools);
  ~RequestWindow() = default;

  /// Sends or queues the requests of a new ticket, by owner. One whose owner has failed fails the ticket.
  void submit(const std::shared_ptr<WindowTicket>& ticket, std::vector<std::vector<Request>> requests);
  /// Instead of submit(): wait_for() returns `error`.
  static void refuse_to_ask(WindowTicket& ticket, Error error) { ticket.error_ = std::move(error); }
  /// Waits for all answers, at most options.deadline beyond the last answer of an owner that still owes some;
  /// errors name the rank and host. Afterwards the ticket is the caller's alone.
  [[nodiscard]] Status wait_for(WindowTicket& ticket);

  const PlaneOptions& options_;
  const PeerNames& names_;
  Pools& pools_;

 private:
  // The parts of what derives from it, called with the mutex held.

  /// Where the body of this answer goes; an error, which names the sender, fails the ticket.
  [[nodiscard]] virtual Result<std::byte*> place(Rank from, WindowTicket& ticket, std::size_t piece,
                                                 const FrameHeader& header, std::size_t body_bytes) = 0;
  /// The body is where place() said, `latency` after the request was sent, and is wanted.
  virtual void take(Rank from, WindowTicket& ticket, std::size_t piece, const FrameHeader& header,
                    std::size_t body_bytes, Duration latency) = 0;
  /// The request has ended: nothing is written for it any more.
  virtual void drop(WindowTicket& ticket, std::size_t piece) = 0;
  /// Credits that are free at this owner, and requests that wait for one.
  virtual void load_changed(Rank owner, std::size_t free, std::size_t waiting) noexcept = 0;

  /// A request that waits for a credit.
  struct Waiting {
    std::shared_ptr<WindowTicket> ticket;
    Request request;
  };
  /// A request in flight. Its number is generation x slots + position in slots_; 0 means free.
  struct Slot {
    std::uint64_t request = 0;
    bool landing = false;
    std::shared_ptr<WindowTicket> ticket;
    std::size_t piece = 0;
    TimePoint asked;
  };
  struct Peer {
    std::deque<Waiting> queue;
    std::vector<std::uint32_t> free_slots;
    TimePoint last_answer;  ///< or the time at which it began to owe something
    std::optional<Error> failed;
  };
  struct Outgoing {
    Rank to = 0;
    Request request;
  };

  void send(Outgoing outgoing);

  // With the mutex held.
  [[nodiscard]] Slot* find(Rank from, std::uint64_t request);
  [[nodiscard]] std::optional<Outgoing> next_request(Rank owner);
  void free_slot(Slot& slot);
  /// Frees the slot of an answered request, and gives what may be sent instead.
  [[nodiscard]] std::optional<Outgoing> settle(Rank from, Slot& slot, TimePoint now);
  void fail(WindowTicket& ticket, const Error& error);
  void fail_queue(Peer& peer, const Error& error);
  [[nodiscard]] TimePoint limit_of(const WindowTicket& ticket, Rank owner) const;
  [[nodiscard]] std::optional<Error> overdue(const WindowTicket& ticket, TimePoint now) const;

  const std::uint32_t credits_;
  transport::Transport& transport_;

  mutable std::mutex mutex_;
  std::vector<Peer> peers_;
  std::vector<Slot> slots_;  ///< `credits` of each peer, one peer after another
  std::uint64_t generation_ = 0;
  std::optional<Error> cancelled_;
};

}  // namespace rudder::dataplane

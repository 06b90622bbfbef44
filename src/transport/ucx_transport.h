// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rudder/transport/transport.h"

#include "transport/outstanding.h"
#include "transport/tally.h"
#include "transport/ucx_frame.h"
#include "transport/ucx_worker.h"

namespace rudder::transport {

/// One active-message id for everything. The progress thread alone touches the UCX worker once started: other
/// threads leave messages and tasks in queues and wake it. Public functions are in ucx_transport.cc, what
/// runs on the progress thread is in ucx_progress.cc.
class UcxTransport final : public Transport {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Transport>> create(Rank rank, Rank world);
  ~UcxTransport() override;

  std::string name() const override { return "ucx"; }
  std::string address() const override { return encode_address(rank_, world_, worker_->address()); }
  Status start(Receiver& receiver) override;
  Status connect(std::span<const std::string> addresses, Deadline deadline) override;
  void send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
            std::function<void(AlignedBytes)> recycle) override;
  Status flush(Deadline deadline) override;
  TransportCounters counters() const override { return tally_.read(); }

 private:
  /// A message from send() to completion. A list node, because UCX keeps pointers into it.
  struct Outgoing {
    UcxTransport* owner = nullptr;
    std::list<Outgoing>::iterator self;
    Rank to = 0;
    FrameKind kind = FrameKind::kMessage;
    std::size_t frame_bytes = 0;
    std::array<std::byte, kFrameBytes> frame;
    AlignedBytes body;
    std::size_t body_bytes = 0;
    std::function<void(AlignedBytes)> recycle;
  };
  /// A large body on its way into its landing place.
  struct Incoming {
    UcxTransport* owner = nullptr;
    std::list<Incoming>* home = nullptr;
    std::list<Incoming>::iterator self;
    Rank from = 0;
    std::size_t header_bytes = 0;
    std::array<std::byte, kMaxHeaderBytes> header;
    std::span<std::byte> body;
  };
  /// Touched by the progress thread only.
  struct Peer {
    UcxTransport* owner = nullptr;
    Rank rank = 0;
    ucp_ep_h endpoint = nullptr;
    bool greeted = false;  ///< its hello has come
    std::optional<Error> failure;
    bool buried = false;  ///< failed and reported
    std::list<Incoming> incoming;
  };
  /// Waits for endpoints to hand everything to the operating system. Shared by the waiter, who may give up,
  /// and the completions.
  struct FlushRound {
    std::mutex mutex;
    std::condition_variable changed;
    bool begun = false;
    std::set<Rank> pending;
    [[nodiscard]] bool done() const { return begun && pending.empty(); }
  };
  struct FlushCall {
    std::shared_ptr<FlushRound> round;
    Rank rank = 0;
    static void complete(void* request, ucs_status_t status, void* call);
    void finish();
  };

  UcxTransport(Rank rank, Rank world, std::unique_ptr<UcxWorker> worker);

  // Any thread.
  void enqueue(std::list<Outgoing>& message);
  void run_on_progress_thread(std::function<void()> task);
  [[nodiscard]] std::string who() const;
  [[nodiscard]] Error peer_error(Rank peer, ucs_status_t status) const;

  // Progress thread.
  void run();
  [[nodiscard]] bool run_queued();
  void linger_after(std::size_t body_bytes);
  void rest();
  void create_endpoints(const std::vector<std::string>& addresses);
  void send_frame(Rank to, FrameKind kind);
  void post(Outgoing& message);
  void deliver_to_self(const Outgoing& message);
  void finish(Outgoing& message);
  ucs_status_t accept(std::span<const std::byte> frame_bytes, void* data, std::size_t length,
                      bool rendezvous);
  void drop(std::string_view what);
  void accept_hello(Peer& peer);
  void accept_welcome(Rank peer);
  void pull_body(const Frame& frame, void* descriptor, std::byte* landing, std::size_t length);
  void finish(Incoming& message, ucs_status_t status);
  void fail(Peer& peer, Error error);
  void close_failed();
  void force_close(Peer& peer);
  void bury(Peer& peer);
  void begin_flush(const std::shared_ptr<FlushRound>& round);
  void shut_down();
  template <class Done>
  void progress_until(Deadline deadline, Done done);

  const Rank rank_;
  const Rank world_;
  std::unique_ptr<UcxWorker> worker_;
  Receiver* receiver_ = nullptr;  ///< set before the progress thread starts
  Tally tally_;
  Outstanding outstanding_;

  // Progress thread only.
  std::vector<Peer> peers_;
  std::vector<Peer*> failed_;  ///< not closed yet
  std::list<Outgoing> in_flight_;
  std::list<Incoming> abandoned_;  ///< of buried peers, not completed by UCX
  bool closing_ = false;
  bool dropped_ = false;  ///< a message of nobody's, and said so
  TimePoint linger_until_{};

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::list<Outgoing> queue_;
  std::list<std::function<void()>> tasks_;
  bool sleeping_ = false;
  bool stop_ = false;
  bool connecting_ = false;
  std::vector<bool> welcomed_;
  std::optional<Error> first_failure_;

  std::jthread progress_;
};

}  // namespace rudder::transport

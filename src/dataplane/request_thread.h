// SPDX-License-Identifier: Apache-2.0
// The answering side of peers' requests: a queue, the thread that works it off, and refusals.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "rudder/core/aligned.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/dataplane/wire.h"
#include "rudder/transport/transport.h"

#include "dataplane/byte_pool.h"

namespace rudder::dataplane {

/// A request as it arrived.
struct PeerRequest {
  Rank from = 0;
  FrameHeader header;
  AlignedBytes body;  ///< of the pool of small blocks
  std::size_t body_bytes = 0;
};

/// Answers requests on a thread of its own, one after another, oldest first. Thread-safe. What derives from
/// it says how; its constructor ends with start() and its destructor begins with stop(). The transport must
/// outlive stop(), the pools the transport.
class RequestThread {
 public:
  RequestThread(const RequestThread&) = delete;
  RequestThread& operator=(const RequestThread&) = delete;

  /// Sends a refusal. Doesn't block.
  void refuse(Rank to, const FrameHeader& request, std::string_view reason);
  /// Ends and joins the thread; requests that wait are dropped. Idempotent, for one thread.
  void stop();

 protected:
  /// `name` of the thread; `refusal`: the type of refusals' frames.
  RequestThread(std::string name, FrameType refusal, transport::Transport& transport, Pools& pools);
  ~RequestThread() = default;

  void start();
  /// Lets a request wait for its turn.
  void queue(PeerRequest request);
  /// Sends `bytes` of `body`, a block of `pool`. Doesn't block.
  void send(Rank to, const FrameHeader& header, AlignedBytes body, std::size_t bytes, BytePool& pool);

  Pools& pools_;
  std::mutex mutex_;
  std::condition_variable work_;   ///< something to do for the thread
  std::deque<PeerRequest> queue_;  ///< guarded by the mutex, as is the next one
  bool stopping_ = false;

 private:
  /// Answers or refuses a request; the thread's, without the mutex.
  virtual void answer(PeerRequest& request) = 0;

  // The following are called with the mutex held.

  /// The thread is about to look for work. Until when it may sleep if there is none; nothing: any time. May
  /// unlock for a while.
  [[nodiscard]] virtual std::optional<TimePoint> look_around(std::unique_lock<std::mutex>& lock) {
    static_cast<void>(lock);
    return std::nullopt;
  }
  /// Whether the oldest request, taken off the queue, can be answered now; unless it can it may be kept.
  [[nodiscard]] virtual bool accept(PeerRequest& request) = 0;
  /// answer() has returned.
  virtual void answered() {}

  void run();

  const std::string name_;
  const FrameType refusal_;
  transport::Transport& transport_;
  std::thread thread_;
};

}  // namespace rudder::dataplane

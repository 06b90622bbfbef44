// SPDX-License-Identifier: Apache-2.0
// Calls of many clients to one model that computes one at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>

#include "rudder/core/result.h"
#include "rudder/llm/agent.h"
#include "rudder/llm/model.h"
#include "rudder/metrics/registry.h"

#include "llm/turn_queue.h"

namespace rudder::llm {

/// One thread calls the model for the jobs in turn. Calls whose client has gone or whose time is up are
/// dropped before they are computed.
class CallQueue {
 public:
  /// All must outlive it.
  CallQueue(Model& model, metrics::Registry& registry, std::size_t most_of_a_job);
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// The model's reply. Errors besides the model's: kResource when the job's queue is full, kTimeout when the
  /// time is up, kCancelled at the end and when the other side of `client`, a socket, has gone (-1: nobody
  /// leaves). Any thread.
  [[nodiscard]] Result<ChatReply> call(const ChatRequest& request, int client);

  /// Stops the model. Waiting and later calls end with kCancelled. Returns when the thread has ended.
  void end();
  [[nodiscard]] AgentTotals totals() const;

 private:
  struct Call;
  void run();
  [[nodiscard]] Result<ChatReply> give_up(const std::shared_ptr<Call>& call, Error why);
  void count(const Result<ChatReply>& reply, double seconds);

  Model& model_;
  metrics::Counter& answered_;
  metrics::Counter& refused_;
  metrics::Counter& dropped_;
  metrics::Counter& failed_;
  metrics::Counter& prompt_tokens_;
  metrics::Counter& cached_tokens_;
  metrics::Counter& reply_tokens_;
  metrics::TimeCounter& busy_;
  metrics::Histogram& call_seconds_;
  metrics::Gauge& waiting_gauge_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  TurnQueue<std::shared_ptr<Call>> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <httplib.h>

#include "rudder/core/clock.h"
#include "rudder/metrics/registry.h"

#include "llm/call_queue.h"
#include "llm/http_stream.h"

namespace rudder::llm {

/// What the agent answers to one request of HTTP; connections are somebody else's. Thread-safe.
class ChatServer final : public httplib::Server {
 public:
  /// All must outlive it.
  ChatServer(CallQueue& queue, const Model& model, const metrics::Registry& registry, Duration patience);

  /// One request. Its handlers wait for the model.
  void answer(HttpStream& client);

 private:
  void complete(const httplib::Request& request, httplib::Response& response);

  CallQueue& queue_;
  const Model& model_;
  ChatRequest defaults_;
  std::atomic<std::uint64_t> replies_{0};  ///< numbers them; alone, so relaxed
};

}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
// One model for many jobs of a host, over OpenAI-style HTTP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/llm/model.h"
#include "rudder/metrics/registry.h"

namespace rudder::llm {

struct AgentOptions {
  std::filesystem::path socket;          ///< of this user alone; empty: the port
  std::uint16_t port = 0;                ///< of 127.0.0.1, open to every user of this host; 0: a free one
  std::size_t queue = 8;                 ///< calls of one job that may wait
  Duration patience = from_seconds(30);  ///< with a call that names no timeout
};

struct AgentTotals {
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;  ///< because a job's queue was full
  std::uint64_t dropped = 0;  ///< before they were computed: the client had gone, or the time was up
  std::uint64_t failed = 0;   ///< with an error of the model
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;  ///< of these, not computed anew
  std::uint64_t reply_tokens = 0;
  double busy_seconds = 0;  ///< in which the model was at work
};

/// Serves POST /v1/chat/completions (without streaming), GET /v1/models, /health and /metrics. One call is
/// computed at a time; jobs, which the field `user` names, take turns. A connection carries one request, of
/// at most 1 MiB, which must arrive within 10 seconds; 64 connections are open at most, more wait. Fields
/// besides OpenAI's: `grammar` (GBNF), `timeout` (seconds), and `allowed` beside each token's probabilities.
class AgentServer {
 public:
  /// A socket of a process that has died is replaced, one in use is an error. `model` and `registry` must
  /// outlive it.
  [[nodiscard]] static Result<std::unique_ptr<AgentServer>> start(Model& model, metrics::Registry& registry,
                                                                  const AgentOptions& options);
  /// Stops the model, ends all connections, joins the threads and removes the socket.
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  /// For `--endpoint`: "unix:PATH" or "http://127.0.0.1:PORT".
  [[nodiscard]] const std::string& address() const noexcept;
  [[nodiscard]] AgentTotals totals() const;

 private:
  class Impl;
  explicit AgentServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::llm

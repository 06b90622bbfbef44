// SPDX-License-Identifier: Apache-2.0
// A model inside the test: answers what it is told to, and keeps what it was asked.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/llm/model.h"

namespace rudder::steer::testing_support {

/// One script line an answer; the last one repeats. Not thread-safe. Each call takes `latency` of the clock,
/// and is a timeout when that is more than the request allows.
class ScriptedModel final : public llm::Model {
 public:
  explicit ScriptedModel(FakeClock& clock) : clock_(clock) {}

  void says(std::string text) {
    llm::ChatReply reply;
    reply.text = std::move(text);
    script_.emplace_back(std::move(reply));
  }
  void says(llm::ChatReply reply) { script_.emplace_back(std::move(reply)); }
  void fails(Errc code, std::string message) { script_.emplace_back(Error{code, std::move(message)}); }
  void takes(Duration latency) { latency_ = latency; }

  Result<llm::ChatReply> complete(const llm::ChatRequest& request) override {
    asked.push_back(request);
    if (latency_ > request.timeout) {
      clock_.advance(request.timeout);
      return Error{Errc::kTimeout, "no answer in time"};
    }
    clock_.advance(latency_);
    Result<llm::ChatReply> reply = script_.front();
    if (script_.size() > 1) {
      script_.pop_front();
    }
    return reply;
  }
  void stop() override {}
  std::string name() const override { return "scripted"; }

  std::vector<llm::ChatRequest> asked;

 private:
  FakeClock& clock_;
  std::deque<Result<llm::ChatReply>> script_;
  Duration latency_{};
};

}  // namespace rudder::steer::testing_support

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/rng.h"
#include "rudder/llm/retry.h"

#include "llm/call_end.h"

namespace rudder::llm {
namespace {

constexpr Duration kSlice = std::chrono::milliseconds(50);  // in which waits look for stop()

class RetryingModel final : public Model {
 public:
  RetryingModel(std::unique_ptr<Model> model, const RetryOptions& options, Clock& clock)
      : model_(std::move(model)), options_(options), clock_(clock) {}

  Result<ChatReply> complete(const ChatRequest& request) override {
    const TimePoint begin = clock_.now();
    const TimePoint end = call_end(request, begin);
    CounterRng rng{options_.seed, calls_.fetch_add(1, std::memory_order_relaxed)};
    Duration longest = options_.first;
    ChatRequest attempt = request;
    for (int tries = 1;; ++tries) {
      attempt.timeout = end - clock_.now();
      Result<ChatReply> reply = model_->complete(attempt);
      if (reply.ok()) {
        reply->seconds = to_seconds(clock_.now() - begin);
        return reply;
      }
      if (reply.error().code != Errc::kPeer) {
        return reply;
      }
      const auto wait = from_seconds(to_seconds(longest) * (0.5 + 0.5 * rng.unit()));
      longest = std::min(2 * longest, options_.most);
      const TimePoint next = clock_.now() + wait;
      if (next >= end) {
        return tries == 1 ? reply
                          : Error{Errc::kPeer, fmt::format("{} ({} tries)", reply.error().message, tries)};
      }
      if (!wait_until(next)) {
        return Error{Errc::kCancelled, model_->name() + ": was stopped"};
      }
    }
  }

  void stop() override {
    stopped_.store(true, std::memory_order_release);  // with wait_until()'s load
    model_->stop();
  }

  [[nodiscard]] std::string name() const override { return model_->name(); }

 private:
  /// False when stopped meanwhile.
  bool wait_until(TimePoint when) {
    while (!stopped_.load(std::memory_order_acquire)) {
      const TimePoint now = clock_.now();
      if (now >= when) {
        return true;
      }
      clock_.sleep_until(std::min(when, now + kSlice));
    }
    return false;
  }

  std::unique_ptr<Model> model_;
  RetryOptions options_;
  Clock& clock_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> calls_{0};
};

}  // namespace

std::unique_ptr<Model> with_retries(std::unique_ptr<Model> model, const RetryOptions& options, Clock& clock) {
  return std::make_unique<RetryingModel>(std::move(model), options, clock);
}

}  // namespace rudder::llm

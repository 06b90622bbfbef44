// SPDX-License-Identifier: Apache-2.0
#include "llm/call_queue.h"

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rudder/core/machine.h"

#include "dataplane/local_socket.h"
#include "llm/call_end.h"
#include "llm/wait_for.h"

namespace rudder::llm {
namespace {

/// For the model to say itself why it has not finished.
constexpr Duration kGrace = std::chrono::milliseconds(500);
const char* const kCallsHelp = "Calls to the model, by what became of them";

metrics::Counter& calls(metrics::Registry& registry, const char* result) {
  return registry.counter("rudder_agent_calls_total", kCallsHelp, {{"result", result}});
}

metrics::Counter& tokens(metrics::Registry& registry, const char* kind) {
  return registry.counter("rudder_agent_tokens_total",
                          "Tokens of prompts, those of them that were not computed anew, and of replies",
                          {{"kind", kind}});
}

}  // namespace

struct CallQueue::Call {
  ChatRequest request;
  TimePoint end;
  dataplane::Descriptor done;              ///< readable when there is a reply
  std::optional<Result<ChatReply>> reply;  ///< under the queue's mutex
};

CallQueue::CallQueue(Model& model, metrics::Registry& registry, std::size_t most_of_a_job)
    : model_(model),
      answered_(calls(registry, "answered")),
      refused_(calls(registry, "refused")),
      dropped_(calls(registry, "dropped")),
      failed_(calls(registry, "failed")),
      prompt_tokens_(tokens(registry, "prompt")),
      cached_tokens_(tokens(registry, "cached")),
      reply_tokens_(tokens(registry, "reply")),
      busy_(registry.seconds("rudder_agent_busy_seconds_total", "Time in which the model was at work")),
      call_seconds_(registry.histogram("rudder_agent_call_seconds", "Time of a call that was answered",
                                       metrics::latency_bounds())),
      waiting_gauge_(registry.gauge("rudder_agent_waiting", "Calls that wait for their turn")),
      waiting_(most_of_a_job),
      thread_([this] { run(); }) {}

CallQueue::~CallQueue() {
  end();
}

void CallQueue::end() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  model_.stop();
  thread_.join();
}

Result<ChatReply> CallQueue::call(const ChatRequest& request, int client) {
  auto call = std::make_shared<Call>();
  call->request = request;
  call->end = call_end(request, steady_clock().now());
  call->done = dataplane::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!call->done.valid()) {
    return Error{Errc::kResource, "no event descriptor: " + std::generic_category().message(errno)};
  }
  {
    const std::lock_guard lock(mutex_);
    if (ending_) {
      return Error{Errc::kCancelled, "the agent is ending"};
    }
    if (!waiting_.push(request.job, call)) {
      refused_.add();
      return Error{Errc::kResource, fmt::format("too many calls of '{}' are waiting already", request.job)};
    }
    waiting_gauge_.set(static_cast<double>(waiting_.size()));
  }
  changed_.notify_one();
  // A client that shuts down its sending half alone counts as gone: HTTP clients do not.
  switch (wait_for(client, POLLRDHUP, call->end + kGrace, call->done.get())) {
    case Wait::kStopped: {
      const std::lock_guard lock(mutex_);
      return *std::move(call->reply);
    }
    case Wait::kDeadline:
      return give_up(call, {Errc::kTimeout, "the model had no time for this call"});
    case Wait::kReady:
      break;
  }
  return give_up(call, {Errc::kCancelled, "the client has gone"});
}

/// A call that is computed already goes on; nobody waits for it.
Result<ChatReply> CallQueue::give_up(const std::shared_ptr<Call>& call, Error why) {
  const std::lock_guard lock(mutex_);
  if (call->reply) {
    return *std::move(call->reply);
  }
  if (waiting_.remove(call->request.job, call)) {
    dropped_.add();
    waiting_gauge_.set(static_cast<double>(waiting_.size()));
  }
  return why;
}

void CallQueue::run() {
  name_this_thread("rudder-model");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || waiting_.size() > 0; });
    const auto call = waiting_.next();
    waiting_gauge_.set(static_cast<double>(waiting_.size()));
    if (!call) {
      return;  // ending, and all who waited were told
    }
    Result<ChatReply> reply = Error{Errc::kCancelled, "the agent is ending"};
    const TimePoint now = steady_clock().now();
    if (!ending_ && now >= (*call)->end) {
      dropped_.add();
      reply = Error{Errc::kTimeout, "the model had no time for this call"};
    } else if (!ending_) {
      lock.unlock();
      (*call)->request.timeout = (*call)->end - now;
      reply = model_.complete((*call)->request);
      count(reply, to_seconds(steady_clock().now() - now));
      lock.lock();
    }
    (*call)->reply = std::move(reply);
    const std::uint64_t one = 1;
    static_cast<void>(!::write((*call)->done.get(), &one, sizeof one));  // an eventfd at 0 takes it
  }
}

void CallQueue::count(const Result<ChatReply>& reply, double seconds) {
  busy_.add(seconds);
  if (!reply.ok()) {
    failed_.add();
    return;
  }
  answered_.add();
  call_seconds_.observe(seconds);
  prompt_tokens_.add(reply->prompt_tokens);
  cached_tokens_.add(reply->cached_tokens);
  reply_tokens_.add(reply->reply_tokens);
}

AgentTotals CallQueue::totals() const {
  return {.answered = answered_.value(),
          .refused = refused_.value(),
          .dropped = dropped_.value(),
          .failed = failed_.value(),
          .prompt_tokens = prompt_tokens_.value(),
          .cached_tokens = cached_tokens_.value(),
          .reply_tokens = reply_tokens_.value(),
          .busy_seconds = busy_.value()};
}

}  // namespace rudder::llm

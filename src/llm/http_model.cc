// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rudder/core/log.h"
#include "rudder/core/text.h"
#include "rudder/llm/endpoint.h"

#include "llm/call_end.h"
#include "llm/chat_wire.h"
#include "llm/http_exchange.h"

namespace rudder::llm {
namespace {

class HttpModel final : public Model {
 public:
  HttpModel(EndpointOptions options, Endpoint endpoint, dataplane::Descriptor stop)
      : options_(std::move(options)),
        endpoint_(std::move(endpoint)),
        connector_(endpoint_),
        stop_(std::move(stop)) {}

  Result<ChatReply> complete(const ChatRequest& request) override {
    const TimePoint begin = steady_clock().now();
    auto reply = ask(request, call_end(request, begin));
    if (!reply.ok()) {
      return without_key(reply.error().in(endpoint_.text));
    }
    reply->seconds = to_seconds(steady_clock().now() - begin);
    return reply;
  }

  void stop() override {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_.get(), &one, sizeof one));  // an eventfd takes more than anybody calls
  }

  [[nodiscard]] std::string name() const override {
    return options_.model.empty() ? endpoint_.text : fmt::format("{} at {}", options_.model, endpoint_.text);
  }

 private:
  /// With as many fields as the server takes.
  Result<ChatReply> ask(const ChatRequest& request, TimePoint end) {
    ChatRequest rest = request;
    std::optional<Error> refused;
    std::string before;
    for (std::size_t level = level_.load(std::memory_order_relaxed); level < kFieldLevels.size(); ++level) {
      rest.timeout = end - steady_clock().now();
      RUDDER_ASSIGN(std::string body, write_chat_request(rest, options_.model, kFieldLevels[level]));
      if (body == before) {  // nothing of what this level leaves out was in it
        continue;
      }
      before = body;
      RUDDER_ASSIGN(const HttpAnswer answer, post(connector_, endpoint_,
                                                  {.path = "/chat/completions",
                                                   .body = std::move(body),
                                                   .api_key = options_.api_key,
                                                   .deadline = end,
                                                   .stop = stop_.get()}));
      if (answer.status != 400 && answer.status != 422) {
        remember(level, refused);
        return answer.status == 200 ? read_chat_reply(answer.body) : status_error(answer);
      }
      refused = refused.value_or(status_error(answer));
    }
    return refused.value_or(Error{Errc::kInternal, "nothing was asked"});
  }

  /// Levels only fall, and only when the server took the lower one.
  void remember(std::size_t level, const std::optional<Error>& refused) {
    if (refused) {
      level_.store(level, std::memory_order_relaxed);
      log_info(fmt::format("{}: is asked with fewer fields from now on; it said: {}", endpoint_.text,
                           without_key(*refused).message));
    }
  }

  static Error status_error(const HttpAnswer& answer) {
    const int status = answer.status;
    const bool may_pass = status >= 500 || status == 408 || status == 409 || status == 425 || status == 429;
    const char* const hint =
        status == 401 || status == 403 ? " (the key comes from the variable RUDDER_AGENT_API_KEY)" : "";
    return {may_pass ? Errc::kPeer : Errc::kInvalidArgument,
            fmt::format("status {}: {}{}", status, read_error(answer.body), hint)};
  }

  /// Servers may repeat the key in what they say.
  [[nodiscard]] Error without_key(Error error) const {
    const std::string& key = options_.api_key;
    for (std::size_t at = 0; !key.empty() && (at = error.message.find(key, at)) != error.message.npos;) {
      error.message.replace(at, key.size(), "***");
      at += 3;
    }
    return error;
  }

  EndpointOptions options_;
  Endpoint endpoint_;
  Connector connector_;
  dataplane::Descriptor stop_;
  std::atomic<std::size_t> level_{0};  ///< of kFieldLevels; alone, so relaxed
};

}  // namespace

Result<std::unique_ptr<Model>> open_endpoint(const EndpointOptions& options) {
  RUDDER_ASSIGN(Endpoint endpoint, parse_model_endpoint(options.url));
  if (!std::ranges::all_of(options.api_key, [](char c) { return c > ' ' && c < 0x7F; })) {
    return Error{Errc::kInvalidArgument, "the key for the model's server has characters that no key has"};
  }
  dataplane::Descriptor stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) {
    return Error{Errc::kResource, "no event descriptor: " + std::generic_category().message(errno)};
  }
  return std::unique_ptr<Model>(std::make_unique<HttpModel>(options, std::move(endpoint), std::move(stop)));
}

Result<std::unique_ptr<Model>> open_endpoint(const std::string& url, const std::string& model) {
  RUDDER_ASSIGN(const Endpoint endpoint, parse_model_endpoint(url));
  return open_endpoint({.url = url, .model = model, .api_key = api_key_from_environment(endpoint)});
}

Result<std::unique_ptr<Model>> open_model(const ModelAddress& address) {
  if (!address.socket.empty() && !address.url.empty()) {
    return Error{Errc::kInvalidArgument, "--agent-socket and --agent-url: one of them"};
  }
  if (!address.given()) {
    return address.name.empty()
               ? Result<std::unique_ptr<Model>>(nullptr)
               : Error{Errc::kInvalidArgument, "--agent-model needs --agent-socket or --agent-url"};
  }
  return open_endpoint(address.url.empty() ? "unix:" + address.socket.string() : address.url, address.name);
}

}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
#include "llm/chat_server.h"

#include <exception>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "rudder/core/log.h"

#include "llm/bounded_json.h"
#include "llm/chat_wire.h"

namespace rudder::llm {
namespace {

constexpr const char* kJsonType = "application/json";
constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

int status_of(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument:
    case Errc::kUnsupported:
      return 400;
    case Errc::kResource:
      return 429;
    case Errc::kTimeout:
      return 504;
    case Errc::kPeer:
      return 502;
    case Errc::kCancelled:
      return 503;
    case Errc::kInvalidData:
    case Errc::kNotFound:
    case Errc::kIo:
    case Errc::kInternal:
      return 500;
  }
  return 500;
}

void refuse(httplib::Response& response, int status, std::string_view why) {
  response.status = status;
  response.set_content(write_error(why, status), kJsonType);
}

/// What httplib refuses by itself.
void explain(const httplib::Request& request, httplib::Response& response) {
  if (!response.body.empty()) {
    return;
  }
  switch (response.status) {
    case 404:
      return refuse(
          response, 404,
          fmt::format("nothing answers {} {}", excerpt(request.method, 16), excerpt(request.path, 128)));
    case 413:
      return refuse(response, 413, fmt::format("a request of more than {} bytes", kMaxRequestBody));
    default:
      return refuse(response, response.status, "the request is broken off, or no HTTP that is known here");
  }
}

}  // namespace

ChatServer::ChatServer(CallQueue& queue, const Model& model, const metrics::Registry& registry,
                       Duration patience)
    : queue_(queue), model_(model) {
  defaults_.timeout = patience;
  Post("/v1/chat/completions",
       [this](const httplib::Request& request, httplib::Response& response) { complete(request, response); });
  Get("/v1/models", [this](const httplib::Request&, httplib::Response& response) {
    const nlohmann::json entry = {{"id", model_.name()}, {"object", "model"}, {"owned_by", "rudder"}};
    response.set_content(to_text({{"object", "list"}, {"data", nlohmann::json::array({entry})}}), kJsonType);
  });
  Get("/health", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(to_text({{"status", "ok"}}), kJsonType);
  });
  Get("/metrics", [&registry](const httplib::Request&, httplib::Response& response) {
    response.set_content(registry.text(), kMetricsType);
  });
  set_error_handler(explain);
  set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
    refuse(response, 500, "the request could not be handled");
  });
  set_payload_max_length(kMaxRequestBody);
}

void ChatServer::answer(HttpStream& client) {
  bool closed = false;
  try {
    process_request(client, true, closed, [](httplib::Request& request) {
      request.ranges.clear();                     // parts of a reply are of no use
      request.headers.erase("Content-Encoding");  // a few bytes can unpack to any number; so they are no JSON
    });
  } catch (const std::exception& error) {
    log_warning(fmt::format("agent: a request could not be answered: {}", error.what()));
  }
}

void ChatServer::complete(const httplib::Request& request, httplib::Response& response) {
  if (!request.get_header_value("Content-Type").starts_with(kJsonType)) {
    return refuse(response, 400, "the request's Content-Type must be application/json");
  }
  const auto chat = read_chat_request(request.body, defaults_);
  if (!chat.ok()) {
    return refuse(response, 400, chat.error().message);
  }
  const auto reply = queue_.call(chat->request, request.remote_port);  // the connection: see HttpStream
  if (!reply.ok()) {
    return refuse(response, status_of(reply.error().code), reply.error().message);
  }
  const std::uint64_t number = replies_.fetch_add(1, std::memory_order_relaxed) + 1;
  response.set_content(write_chat_reply(*reply, *chat, model_.name(), number), kJsonType);
}

}  // namespace rudder::llm

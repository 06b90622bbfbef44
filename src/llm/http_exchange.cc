// SPDX-License-Identifier: Apache-2.0
#include "llm/http_exchange.h"

#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>

#include "rudder/core/text.h"

#include "llm/chat_wire.h"
#include "llm/http_stream.h"
#include "llm/tls.h"

namespace rudder::llm {
namespace {

/// httplib's client over a connection that is there already: it speaks the protocol and no more.
class Client final : public httplib::ClientImpl {
 public:
  explicit Client(HttpStream& stream) : ClientImpl("localhost"), stream_(stream) {
    set_keep_alive(false);
    set_follow_location(false);
    set_decompress(false);  // no encoding is asked for
    set_url_encode(false);
  }

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error&) override {
    socket.sock = stream_.socket();
    return true;
  }
  bool process_socket(const Socket&, std::function<bool(httplib::Stream&)> exchange) override {
    return exchange(stream_);
  }
  /// Called before the socket would be closed, which its owner does.
  void shutdown_ssl(Socket& socket, bool) override { socket.sock = INVALID_SOCKET; }

  HttpStream& stream_;
};

/// The Host header: without the port where that is the scheme's own.
std::string host_of(const Endpoint& endpoint) {
  if (endpoint.kind == Endpoint::Kind::kUnix) {
    return "localhost";
  }
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? fmt::format("[{}]", endpoint.host) : endpoint.host;
  const int usual = endpoint.kind == Endpoint::Kind::kHttps ? 443 : 80;
  return endpoint.port == usual ? host : fmt::format("{}:{}", host, endpoint.port);
}

Error why_it_ended(HttpStream::End end) {
  switch (end) {
    case HttpStream::End::kDeadline:
      return {Errc::kTimeout, "no whole reply in time"};
    case HttpStream::End::kStopped:
      return {Errc::kCancelled, "was stopped"};
    case HttpStream::End::kTooMuch:
      return {Errc::kPeer, fmt::format("a reply of more than {}, or with endless lines",
                                       human_bytes(static_cast<double>(kMaxReplyBody)))};
    case HttpStream::End::kClosed:
    case HttpStream::End::kBroken:
      return {Errc::kPeer, "the connection broke off before the reply was whole"};
    case HttpStream::End::kOpen:
      break;
  }
  return {Errc::kPeer, "the reply is not HTTP"};
}

}  // namespace

Result<HttpAnswer> post(Connector& connector, const Endpoint& endpoint, const HttpCall& call) {
  RUDDER_ASSIGN(const dataplane::Descriptor socket, connector.connect(call.deadline, call.stop));
  std::optional<TlsConnection> tls;
  if (endpoint.kind == Endpoint::Kind::kHttps) {
    RUDDER_ASSIGN(tls, TlsConnection::connect(socket.get(), endpoint.host, call.deadline, call.stop));
  }
  HttpStream stream({.socket = socket.get(),
                     .stop = call.stop,
                     .deadline = call.deadline,
                     .most_bytes = kMaxReplyBody,
                     .tls = tls ? &*tls : nullptr});
  httplib::Request request;
  request.method = "POST";
  request.path = endpoint.path + call.path;
  request.body = call.body;
  request.headers = {{"Host", host_of(endpoint)},
                     {"Content-Type", "application/json"},
                     {"Content-Length", std::to_string(call.body.size())},
                     {"Accept", "application/json"},
                     {"User-Agent", "rudder"}};
  if (!call.api_key.empty()) {
    request.headers.emplace("Authorization", "Bearer " + call.api_key);
  }
  try {
    Client client(stream);
    httplib::Response response;
    auto error = httplib::Error::Success;
    if (!client.send(request, response, error)) {
      return why_it_ended(stream.end());
    }
    return HttpAnswer{response.status, std::move(response.body)};
  } catch (const std::exception& error) {
    return Error{Errc::kPeer, fmt::format("the reply is not HTTP: {}", error.what())};
  }
}

}  // namespace rudder::llm

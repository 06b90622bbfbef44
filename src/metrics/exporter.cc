// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/exporter.h"

#include <array>
#include <cerrno>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/clock.h"
#include "rudder/core/log.h"
#include "rudder/core/machine.h"
#include "rudder/core/text.h"

#include "metrics/client_stream.h"

namespace rudder::metrics {
namespace {

constexpr int kWaitingClients = 8;
constexpr int kRetryMilliseconds = 100;  // when descriptors ran out
constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

/// HTTP itself; connections are the exporter's.
class HttpServer final : public httplib::Server {
 public:
  explicit HttpServer(const Registry& registry) {
    Get("/metrics", [&registry](const httplib::Request&, httplib::Response& response) {
      response.set_content(registry.text(), kContentType);
    });
    Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("figures of this run: /metrics\n", "text/plain");
    });
    set_payload_max_length(0);
  }

  /// Parts of the page are of no use to anybody, and many of them multiply it.
  void answer(httplib::Stream& client) {
    bool closed = false;
    process_request(client, true, closed, [](httplib::Request& request) { request.ranges.clear(); });
  }
};

Error system_error(const Endpoint& endpoint, std::string_view what, int code) {
  return {Errc::kIo, fmt::format("metrics at {}:{}: {}: {}", endpoint.host, endpoint.port, what,
                                 std::generic_category().message(code))};
}

/// A listening socket that does not block. Unlike httplib's own it does not share its port with others.
Result<int> listen_at(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint.port);
  if (const int failed = ::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found); failed != 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("metrics at {}: {}", endpoint.host, ::gai_strerror(failed))};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> release(found, &::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return system_error(endpoint, "socket", errno);
  }
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, kWaitingClients) != 0) {
    const int code = errno;
    ::close(fd);
    return system_error(endpoint, "cannot listen", code);
  }
  return fd;
}

Result<std::string> url_of(int listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return Error{Errc::kInternal, "metrics: the address of the listening socket is not known"};
  }
  const std::string name = address.ss_family == AF_INET6 ? fmt::format("[{}]", host.data()) : host.data();
  return fmt::format("http://{}:{}/metrics", name, port.data());
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  std::string_view port = text;
  if (const std::size_t colon = text.rfind(':'); colon != text.npos) {
    std::string_view host = text.substr(0, colon);
    port = text.substr(colon + 1);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) {
      host = host.substr(1, host.size() - 2);
    }
    if (host.empty() || (!bracketed && host.find_first_of(":[] ") != host.npos)) {
      return Error{Errc::kInvalidArgument, fmt::format("'{}' is not HOST:PORT; IPv6 as [::1]:9400", text)};
    }
    endpoint.host = host;
  }
  const auto number = parse_int(port);
  if (!number || *number < 0 || *number > 65535) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("'{}' is no PORT of 0..65535 and no HOST:PORT, for example 9400", text)};
  }
  endpoint.port = static_cast<std::uint16_t>(*number);
  return endpoint;
}

class Exporter::Impl {
 public:
  Impl(const Registry& registry, int listening, int stop, std::string url)
      : server_(registry), listening_(listening), stop_(stop), url_(std::move(url)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_, &one, sizeof one));  // an eventfd at 0 takes it
    thread_.join();
    ::close(listening_);
    ::close(stop_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  [[nodiscard]] const std::string& url() const noexcept { return url_; }

 private:
  void run() {
    name_this_thread("rudder-metrics");
    while (!stopped(listening_, -1)) {
      const int client = ::accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (client >= 0) {
        serve(client);
        ::close(client);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        if (stopped(-1, kRetryMilliseconds)) {
          return;
        }
      }
    }
  }

  /// Waits for `fd` (-1: for nothing else) or the end; true at the end.
  [[nodiscard]] bool stopped(int fd, int milliseconds) const {
    std::array<pollfd, 2> wanted = {{{fd, POLLIN, 0}, {stop_, POLLIN, 0}}};
    ::poll(wanted.data(), wanted.size(), milliseconds);
    return wanted[1].revents != 0;
  }

  void serve(int client) {
    ClientStream stream(client, stop_, Deadline::in(std::chrono::seconds(1)));
    try {
      server_.answer(stream);
    } catch (const std::exception& error) {
      log_warning(fmt::format("metrics: a request could not be answered: {}", error.what()));
    }
    ::shutdown(client, SHUT_WR);
  }

  HttpServer server_;
  int listening_;
  int stop_;
  std::string url_;
  std::thread thread_;
};

Exporter::Exporter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Exporter::~Exporter() = default;

Result<std::unique_ptr<Exporter>> Exporter::start(const Registry& registry, const Endpoint& endpoint) {
  RUDDER_ASSIGN(const int listening, listen_at(endpoint));
  auto url = url_of(listening);
  const int stop = url.ok() ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
  if (stop < 0) {
    const int code = errno;
    ::close(listening);
    return url.ok() ? system_error(endpoint, "eventfd", code) : url.error();
  }
  return std::unique_ptr<Exporter>(
      new Exporter(std::make_unique<Impl>(registry, listening, stop, std::move(url).value())));
}

const std::string& Exporter::url() const noexcept {
  return impl_->url();
}

}  // namespace rudder::metrics

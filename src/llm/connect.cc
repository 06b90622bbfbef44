// SPDX-License-Identifier: Apache-2.0
#include "llm/connect.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include "llm/wait_for.h"

namespace rudder::llm {
namespace {

using dataplane::Descriptor;

std::string reason(int error) {
  return std::generic_category().message(error);
}

std::vector<SocketAddress> copy_addresses(const addrinfo* found) {
  std::vector<SocketAddress> addresses;
  for (; found != nullptr; found = found->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
    address.size = found->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

/// Not connected: the error says why.
Result<Descriptor> connect_socket(const SocketAddress& address, TimePoint deadline, int stop) {
  Descriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    return Error{Errc::kResource, "no socket: " + reason(errno)};
  }
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(socket.get(), generic, address.size) == 0) {
    return socket;
  }
  int error = errno;
  if (error == EINPROGRESS) {
    const Wait waited = wait_for(socket.get(), POLLOUT, deadline, stop);
    if (waited == Wait::kStopped) {
      return Error{Errc::kCancelled, "was stopped"};
    }
    if (waited == Wait::kDeadline) {
      return Error{Errc::kTimeout, "does not answer"};
    }
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  return error == 0 ? Result<Descriptor>(std::move(socket)) : Error{Errc::kPeer, reason(error)};
}

}  // namespace

/// A question to the resolver, which keeps pointers to all of it until it has answered.
struct Connector::Lookup {
  Lookup(std::string name, std::uint16_t port) : host(std::move(name)), service(std::to_string(port)) {
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
    request.ar_name = host.c_str();
    request.ar_service = service.c_str();
    request.ar_request = &hints;
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;
  ~Lookup() {
    if (request.ar_result != nullptr) {
      ::freeaddrinfo(request.ar_result);
    }
  }
  [[nodiscard]] bool finished() { return ::gai_error(&request) != EAI_INPROGRESS; }
  void wait(Duration longest) {
    const auto nanoseconds = std::max<std::int64_t>(longest.count(), 0);
    const timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    const gaicb* const one = &request;
    ::gai_suspend(&one, 1, &time);
  }

  std::string host;
  std::string service;
  addrinfo hints{};
  gaicb request{};
};

Connector::Connector(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

Connector::~Connector() {
  for (const auto& lookup : late_) {
    while (!lookup->finished()) {
      lookup->wait(std::chrono::seconds(1));
    }
  }
}

Result<std::vector<SocketAddress>> Connector::look_up(TimePoint deadline, int stop) {
  addrinfo numeric{};
  numeric.ai_socktype = SOCK_STREAM;
  numeric.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(endpoint_.host.c_str(), std::to_string(endpoint_.port).c_str(), &numeric, &found) == 0) {
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> release(found, &::freeaddrinfo);
    return copy_addresses(found);
  }
  return ask_resolver(deadline, stop);
}

Result<std::vector<SocketAddress>> Connector::ask_resolver(TimePoint deadline, int stop) {
  constexpr Duration kSlice = std::chrono::milliseconds(20);  // in which stop is looked at
  auto lookup = std::make_unique<Lookup>(endpoint_.host, endpoint_.port);
  gaicb* list = &lookup->request;
  if (const int failed = ::getaddrinfo_a(GAI_NOWAIT, &list, 1, nullptr); failed != 0) {
    return Error{Errc::kResource, fmt::format("{}: {}", endpoint_.host, ::gai_strerror(failed))};
  }
  Wait waited = Wait::kReady;
  while (!lookup->finished() && waited == Wait::kReady) {
    lookup->wait(std::min<Duration>(kSlice, deadline - steady_clock().now()));
    if (wait_for(-1, 0, TimePoint{}, stop) == Wait::kStopped) {
      waited = Wait::kStopped;
    } else if (steady_clock().now() >= deadline) {
      waited = Wait::kDeadline;
    }
  }
  if (lookup->finished()) {
    const int failed = ::gai_error(&lookup->request);
    return failed == 0 ? Result<std::vector<SocketAddress>>(copy_addresses(lookup->request.ar_result))
                       : Error{Errc::kPeer, fmt::format("{}: {}", endpoint_.host, ::gai_strerror(failed))};
  }
  if (::gai_cancel(&lookup->request) != EAI_CANCELED) {
    const std::lock_guard lock(mutex_);
    late_.push_back(std::move(lookup));
  }
  return waited == Wait::kStopped
             ? Error{Errc::kCancelled, "was stopped"}
             : Error{Errc::kTimeout,
                     fmt::format("the name server does not tell {}'s address", endpoint_.host)};
}

Result<Descriptor> Connector::connect_local() {
  auto socket = dataplane::LocalSocket::connect(endpoint_.host, Deadline(TimePoint{}));
  if (!socket.ok()) {
    const bool path_is_bad = socket.error().code == Errc::kInvalidArgument;
    return Error{path_is_bad ? Errc::kInvalidArgument : Errc::kPeer, socket.error().message};
  }
  Descriptor descriptor = socket->release();
  ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
  return descriptor;
}

Result<Descriptor> Connector::connect(TimePoint deadline, int stop) {
  if (endpoint_.kind == Endpoint::Kind::kUnix) {
    return connect_local();
  }
  std::vector<SocketAddress> addresses;
  {
    const std::lock_guard lock(mutex_);
    late_.remove_if([](const auto& lookup) { return lookup->finished(); });
    addresses = addresses_;
  }
  if (addresses.empty()) {
    RUDDER_ASSIGN(addresses, look_up(deadline, stop));
  }
  Error last{Errc::kPeer, "has no address"};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // Each gets its share of the time: the first may lead nowhere.
    const TimePoint now = steady_clock().now();
    const auto left = static_cast<std::int64_t>(addresses.size() - i);
    auto socket = connect_socket(addresses[i], now + (deadline - now) / left, stop);
    if (socket.ok()) {
      const std::lock_guard lock(mutex_);
      addresses_ = {addresses[i]};
      return socket;
    }
    last = socket.error();
    if (last.code == Errc::kCancelled) {
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  addresses_.clear();
  return last.in(fmt::format("{} port {}", endpoint_.host, endpoint_.port));
}

}  // namespace rudder::llm

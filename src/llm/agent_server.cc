// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/log.h"
#include "rudder/core/machine.h"
#include "rudder/llm/agent.h"

#include "dataplane/local_socket.h"
#include "llm/call_queue.h"
#include "llm/chat_server.h"
#include "llm/chat_wire.h"
#include "llm/http_stream.h"
#include "llm/wait_for.h"

namespace rudder::llm {
namespace {

using dataplane::Descriptor;

constexpr std::size_t kMaxConnections = 64;
constexpr Duration kRequestTime =
    std::chrono::seconds(10);  // to send a request; to take each part of a reply
constexpr Duration kRetry = std::chrono::milliseconds(100);  // when descriptors ran out

void raise_event(const Descriptor& event) {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(event.get(), &one, sizeof one));  // an eventfd takes more than anybody writes
}

Result<Descriptor> new_event() {
  Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) {
    return Error{Errc::kResource, "no event descriptor: " + std::generic_category().message(errno)};
  }
  return event;
}

/// Either a name in the file system or a port of this host.
class Listener {
 public:
  [[nodiscard]] static Result<Listener> open(const AgentOptions& options) {
    Listener listener;
    if (!options.socket.empty()) {
      RUDDER_ASSIGN(auto local, dataplane::LocalListener::open(options.socket));
      listener.local_.emplace(std::move(local));
      listener.address_ = "unix:" + options.socket.string();
      return listener;
    }
    RUDDER_TRY(listener.open_port(options.port));
    return listener;
  }

  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] int get() const { return local_ ? local_->get() : port_.get(); }

  /// A connection that does not block. Nothing when there is none for this user.
  [[nodiscard]] Result<Descriptor> accept() {
    Descriptor client;
    if (local_) {
      RUDDER_ASSIGN(dataplane::LocalSocket accepted, local_->accept());
      client = accepted.release();
      ::fcntl(client.get(), F_SETFL, ::fcntl(client.get(), F_GETFL) | O_NONBLOCK);
      return client;
    }
    client = Descriptor(::accept4(port_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client.valid()) {
      return Error{Errc::kResource, "accepting a connection: " + std::generic_category().message(errno)};
    }
    return client;
  }

 private:
  Status open_port(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    port_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    ::setsockopt(port_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (!port_.valid() || ::bind(port_.get(), generic, size) != 0 ||
        ::listen(port_.get(), static_cast<int>(kMaxConnections)) != 0 ||
        ::getsockname(port_.get(), generic, &size) != 0) {
      return Error{Errc::kIo,
                   fmt::format("127.0.0.1 port {}: {}", port, std::generic_category().message(errno))};
    }
    address_ = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
    return {};
  }

  std::optional<dataplane::LocalListener> local_;
  Descriptor port_;
  std::string address_;
};

}  // namespace

class AgentServer::Impl {
 public:
  Impl(Model& model, metrics::Registry& registry, const AgentOptions& options, Listener listener,
       Descriptor stop, Descriptor finished)
      : listener_(std::move(listener)),
        stop_(std::move(stop)),
        finished_(std::move(finished)),
        queue_(model, registry, options.queue),
        server_(queue_, model, registry, options.patience),
        thread_([this] { run(); }) {}

  ~Impl() {
    raise_event(stop_);
    queue_.end();  // answers all who wait
    thread_.join();
    for (Connection& connection : connections_) {
      connection.thread.join();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] const std::string& address() const noexcept { return listener_.address(); }
  [[nodiscard]] AgentTotals totals() const { return queue_.totals(); }

 private:
  struct Connection {
    Descriptor socket;
    std::atomic<bool> ended{false};  ///< released by its thread as the last thing that it does
    std::thread thread;
  };

  /// Accepts while there is room, and joins threads whose connections have ended.
  void run() {
    name_this_thread("rudder-agent");
    for (;;) {
      const bool room = connections_.size() < kMaxConnections;
      std::array<pollfd, 3> wanted = {
          {{stop_.get(), POLLIN, 0}, {finished_.get(), POLLIN, 0}, {room ? listener_.get() : -1, POLLIN, 0}}};
      ::poll(wanted.data(), wanted.size(), -1);
      if (wanted[0].revents != 0) {
        return;
      }
      if (wanted[1].revents != 0) {
        reap();
      }
      if (wanted[2].revents != 0) {
        admit();
      }
    }
  }

  void reap() {
    std::uint64_t ignored = 0;
    static_cast<void>(!::read(finished_.get(), &ignored, sizeof ignored));
    connections_.remove_if([](Connection& connection) {
      if (!connection.ended.load(std::memory_order_acquire)) {  // with serve()'s store
        return false;
      }
      connection.thread.join();
      return true;
    });
  }

  void admit() {
    auto client = listener_.accept();
    if (!client.ok()) {
      if (client.error().code == Errc::kResource) {
        static_cast<void>(wait_for(-1, 0, steady_clock().now() + kRetry, stop_.get()));
      } else {
        log_warning("agent: " + client.error().message);
      }
      return;
    }
    Connection& connection = connections_.emplace_back();
    connection.socket = std::move(client).value();
    try {
      connection.thread = std::thread([this, &connection] { serve(connection); });
    } catch (const std::system_error& error) {
      log_warning(fmt::format("agent: no thread for a connection: {}", error.what()));
      connections_.pop_back();
    }
  }

  void serve(Connection& connection) {
    name_this_thread("rudder-request");
    HttpStream stream({.socket = connection.socket.get(),
                       .stop = stop_.get(),
                       .deadline = steady_clock().now() + kRequestTime,
                       .write_time = kRequestTime,
                       .most_bytes = kMaxRequestBody + 65536});
    server_.answer(stream);
    linger(connection.socket.get());
    connection.ended.store(true, std::memory_order_release);
    raise_event(finished_);
  }

  /// Closed with bytes unread, a connection may lose the reply: what still comes is taken for a moment.
  void linger(int client) const {
    ::shutdown(client, SHUT_WR);
    const TimePoint until = steady_clock().now() + std::chrono::seconds(1);
    std::array<char, 16384> ignored;
    while (wait_for(client, POLLIN, until, stop_.get()) == Wait::kReady) {
      if (::recv(client, ignored.data(), ignored.size(), 0) <= 0 || steady_clock().now() >= until) {
        return;
      }
    }
  }

  Listener listener_;
  Descriptor stop_;
  Descriptor finished_;
  CallQueue queue_;
  ChatServer server_;
  std::list<Connection> connections_;  ///< the accepting thread's
  std::thread thread_;
};

AgentServer::AgentServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AgentServer::~AgentServer() = default;

Result<std::unique_ptr<AgentServer>> AgentServer::start(Model& model, metrics::Registry& registry,
                                                        const AgentOptions& options) {
  RUDDER_ASSIGN(Listener listener, Listener::open(options));
  RUDDER_ASSIGN(Descriptor stop, new_event());
  RUDDER_ASSIGN(Descriptor finished, new_event());
  return std::unique_ptr<AgentServer>(new AgentServer(std::make_unique<Impl>(
      model, registry, options, std::move(listener), std::move(stop), std::move(finished))));
}

const std::string& AgentServer::address() const noexcept {
  return impl_->address();
}

AgentTotals AgentServer::totals() const {
  return impl_->totals();
}

}  // namespace rudder::llm

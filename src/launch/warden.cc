// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/launch/rank_env.h"
#include "rudder/launch/run.h"

#include "launch/launcher_link.h"
#include "launch/warden_wire.h"

namespace rudder::launch {
namespace {

/// Orders of the launcher while ranks run.
class LauncherOrders final : public Overseer {
 public:
  explicit LauncherOrders(LauncherLink& link) : link_(link) {}

  [[nodiscard]] int descriptor() const override { return link_.descriptor(); }
  [[nodiscard]] TimePoint next_turn() const override {
    return obeyed_loss_ ? TimePoint::max() : link_.next_turn();
  }
  [[nodiscard]] int wanted_signal() override {
    if (obeyed_loss_) {
      return 0;
    }
    link_.turn();
    int wanted = 0;
    while (const auto line = link_.take_line()) {
      wanted = parse_signal(*line) != 0 ? parse_signal(*line) : wanted;
    }
    if (!link_.lost().empty()) {
      std::fprintf(stderr, "rudder: %s; its ranks are stopped\n", link_.lost().c_str());
      obeyed_loss_ = true;
      return SIGTERM;
    }
    return wanted;
  }

 private:
  LauncherLink& link_;
  bool obeyed_loss_ = false;
};

struct FreeAddresses {
  void operator()(addrinfo* all) const { ::freeaddrinfo(all); }
};

bool is_loopback(const addrinfo& entry) {
  const void* where = entry.ai_addr;
  if (entry.ai_family == AF_INET) {
    constexpr std::uint32_t kNetwork = 127;
    return ntohl(static_cast<const sockaddr_in*>(where)->sin_addr.s_addr) >> 24 == kNetwork;
  }
  return entry.ai_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&static_cast<const sockaddr_in6*>(where)->sin6_addr);
}

/// Where `name` is, seen from here: the first address that other hosts could mean too, else any.
void look_up(const std::string& name, Ready& ready) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) {
    return;
  }
  const std::unique_ptr<addrinfo, FreeAddresses> all(found);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST];
    if ((ready.address.empty() || (ready.loopback && !is_loopback(*entry))) &&
        ::getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
            0) {
      ready.address = text;
      ready.loopback = is_loopback(*entry);
    }
  }
}

Ready look(const Hello& hello, const std::string& version) {
  Ready ready;
  ready.version = version;
  if (::chdir(hello.directory.c_str()) != 0) {
    ready.error = errno_error("cannot work in " + hello.directory).message;
    return ready;
  }
  look_up(hello.master, ready);
  if (const auto port = free_port(); port.ok()) {
    ready.port = *port;
  } else {
    ready.error = port.error().message;
  }
  return ready;
}

/// Standard input and output, which nobody else may touch from here on: ranks read nothing, and what this
/// program prints goes to standard error.
Result<LauncherLink> take_over_standard_streams() {
  Fd in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  Fd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!in.open() || !out.open() || !nothing.open() || ::dup2(nothing.get(), STDIN_FILENO) < 0 ||
      ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return errno_error("cannot take over standard input and output");
  }
  return LauncherLink(std::move(in), std::move(out));
}

Result<std::string> wait_order(LauncherLink& link, std::string_view kind) {
  RUDDER_ASSIGN(const std::string line, link.wait_line());
  if (!line.starts_with(kind)) {
    return Error{Errc::kInvalidData, fmt::format("the launcher did not say '{}'", kind)};
  }
  return line.substr(kind.size());
}

Status run_start(const Start& start, const std::string& program, LauncherLink& link) {
  LauncherOrders orders(link);
  SuperviseOptions options;
  options.overseer = &orders;
  options.on_line = [&](std::size_t child, Stream stream, std::string_view line) {
    link.send(encode_line(start.ranks.first + static_cast<Rank>(child), stream, line));
  };
  options.on_exit = [&](std::size_t child, const Exit& exit) {
    link.send(encode_exit(start.ranks.first + static_cast<Rank>(child), exit));
  };
  RUDDER_ASSIGN(const SuperviseResult ended, run_ranks(start.spec, start.ranks, program, options));
  if (ended.received_signal != 0) {
    link.send(encode_ended(ended.received_signal));
  }
  return {};
}

/// From the launcher's hello to the end of all ranks here.
Status serve(LauncherLink& link, const std::string& program, const std::string& version) {
  RUDDER_ASSIGN(const std::string greeting, wait_order(link, kHello));
  RUDDER_ASSIGN(const Hello hello, parse_hello(greeting));
  link.set_silence(from_seconds(hello.silence));
  const Ready ready = look(hello, version);
  RUDDER_ASSIGN(const std::string answer, encode(ready));
  link.send("");  // the login shell may have left a line unfinished
  link.send(answer);
  RUDDER_ASSIGN(const std::string order, wait_order(link, kStart));
  RUDDER_ASSIGN(const Start start, parse_start(order));
  return run_start(start, program, link);
}

}  // namespace

Result<int> run_warden(const std::string& program, const std::string& version) {
  if (::isatty(STDIN_FILENO) != 0) {
    return Error{Errc::kInvalidArgument, "the warden of a host is started by rudder launch --hosts"};
  }
  ::signal(SIGPIPE, SIG_IGN);  // a launcher that is gone is noticed by the write that fails
  RUDDER_ASSIGN(LauncherLink link, take_over_standard_streams());
  const Status served = serve(link, program, version);
  if (served.ok()) {
    return 0;
  }
  if (!link.lost().empty()) {
    return served.error();
  }
  std::string line(kError);
  line += served.error().message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  link.send(line);
  return 1;
}

}  // namespace rudder::launch

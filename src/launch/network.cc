// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/network.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "rudder/core/clock.h"
#include "rudder/core/files.h"
#include "rudder/core/log.h"
#include "rudder/core/text.h"
#include "rudder/launch/process.h"

namespace rudder::launch {
namespace {

constexpr std::string_view kPrefix = "rud";  // names of namespaces: rud PID letter number

/// Runs one iproute2 command; its arguments are separated by spaces.
Result<std::string> run(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < line.size();) {
    const std::size_t end = std::min(line.find(' ', start), line.size());
    words.emplace_back(line.substr(start, end - start));
    start = end + 1;
  }
  return run_and_capture(words, from_seconds(10));
}

/// The process id in a name that this program made ("rud1234h0"), or nothing.
std::optional<pid_t> owner_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kPrefix.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const auto pid = parse_int(name.substr(0, digits));
  if (!pid || digits == name.size() || (name[digits] != 'h' && name[digits] != 's')) {
    return std::nullopt;
  }
  return static_cast<pid_t>(*pid);
}

bool is_alive(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

std::vector<std::string> namespaces() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/var/run/netns", ignored)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

/// Removes what `wanted` picks, with all interfaces in it.
template <class Predicate>
void remove_networks(const Predicate& wanted) {
  for (const std::string& name : namespaces()) {
    if (const auto owner = owner_of(name); owner && wanted(*owner)) {
      if (const auto done = run("ip netns del " + name); !done) {
        log_warning("clean-up: " + done.error().message);
      }
    }
  }
}

/// The end of a host's cable that is at the switch.
std::string port_name(std::size_t host) {
  return fmt::format("port{}", host);
}

/// Shapes what leaves `interface`. The burst holds 2 ms of traffic, at least 16 KiB (tbf needs some packets).
Status shape(const std::string& space, const std::string& interface, double bits_per_second) {
  const auto burst = static_cast<std::int64_t>(std::max(16384.0, bits_per_second / 8 * 0.002));
  const auto rate = static_cast<std::int64_t>(std::llround(bits_per_second));
  RUDDER_TRY(run(fmt::format("tc -n {} qdisc add dev {} root tbf rate {}bit burst {} latency 100ms", space,
                             interface, rate, burst)));
  return {};
}

}  // namespace

Status can_make_network() {
  if (::geteuid() != 0) {
    return Error{Errc::kUnsupported, "network namespaces need root"};
  }
  if (const auto version = run("ip -V"); !version) {
    return Error{Errc::kUnsupported, "network namespaces need iproute2 (apt-get install iproute2)"};
  }
  const std::string name = fmt::format("{}{}h9999", kPrefix, ::getpid());
  if (const auto made = run("ip netns add " + name); !made) {
    return Error{Errc::kUnsupported,
                 "this machine does not allow network namespaces: " + made.error().message};
  }
  RUDDER_TRY(run("ip netns del " + name));
  return {};
}

Result<std::unique_ptr<VirtualNetwork>> VirtualNetwork::create(std::size_t hosts, double bits_per_second) {
  if (hosts == 0 || hosts > 250) {
    return Error{Errc::kInvalidArgument, fmt::format("{} hosts; 1 to 250 fit one virtual network", hosts)};
  }
  remove_networks([](pid_t owner) { return owner == ::getpid() || !is_alive(owner); });
  auto network = std::unique_ptr<VirtualNetwork>(new VirtualNetwork);
  network->switch_ = fmt::format("{}{}s", kPrefix, ::getpid());
  const std::string& hub = network->switch_;
  RUDDER_TRY(run(fmt::format("ip netns add {}", hub)));
  RUDDER_TRY(run(fmt::format("ip -n {} link add bridge type bridge", hub)));
  RUDDER_TRY(run(fmt::format("ip -n {} link set bridge up", hub)));
  for (std::size_t i = 0; i < hosts; ++i) {
    Host host;
    host.network_namespace = fmt::format("{}{}h{}", kPrefix, ::getpid(), i);
    host.address = fmt::format("10.199.0.{}", i + 1);
    host.interface = "eth0";
    const std::string& space = host.network_namespace;
    const std::string port = port_name(i);
    RUDDER_TRY(run(fmt::format("ip netns add {}", space)));
    network->hosts_.push_back(host);
    RUDDER_TRY(run(fmt::format("ip -n {} link add {} type veth peer name eth0 netns {}", hub, port, space)));
    RUDDER_TRY(run(fmt::format("ip -n {} link set {} master bridge up", hub, port)));
    RUDDER_TRY(run(fmt::format("ip -n {} addr add {}/24 dev eth0", space, host.address)));
    RUDDER_TRY(run(fmt::format("ip -n {} link set eth0 up", space)));
    RUDDER_TRY(run(fmt::format("ip -n {} link set lo up", space)));
    if (bits_per_second > 0) {
      RUDDER_TRY(shape(space, "eth0", bits_per_second));
      RUDDER_TRY(shape(hub, port, bits_per_second));
    }
  }
  return network;
}

VirtualNetwork::~VirtualNetwork() {
  remove_networks([](pid_t owner) { return owner == ::getpid(); });
}

Result<LinkBytes> VirtualNetwork::bytes(std::size_t host) const {
  const std::string port = port_name(host);
  RUDDER_ASSIGN(const std::string text, run(fmt::format("ip -n {} -j -s link show {}", switch_, port)));
  const auto links = nlohmann::json::parse(text, nullptr, false);
  // Seen from the switch: what it transmits through the port is what the host receives.
  const nlohmann::json::json_pointer received("/0/stats64/tx/bytes");
  const nlohmann::json::json_pointer sent("/0/stats64/rx/bytes");
  for (const auto* each : {&received, &sent}) {
    if (!links.contains(*each) || !links[*each].is_number_unsigned()) {
      return Error{Errc::kIo, fmt::format("ip link show {}: no count at {}", port, each->to_string())};
    }
  }
  return LinkBytes{links[received].get<std::uint64_t>(), links[sent].get<std::uint64_t>()};
}

}  // namespace rudder::launch

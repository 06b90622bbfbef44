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

#include "launch/child.h"

namespace rudder::launch {
namespace {

constexpr std::string_view kPrefix = "rud";  // names of namespaces: rud PID letter number

std::vector<std::string> arguments_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < line.size();) {
    const std::size_t end = std::min(line.find(' ', start), line.size());
    words.emplace_back(line.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

/// Runs a short command to its end, also while supervise() runs.
Status run_at_once(const std::vector<std::string>& arguments) {
  Command command;
  command.name = arguments[0];
  command.arguments = arguments;
  RUDDER_ASSIGN(Child child, Child::start(command));
  std::string said;
  const auto hear = [&](Stream, std::string_view line) { said = line; };
  while (!child.reap()) {
    std::vector<pollfd> outputs;
    child.add_to(outputs);
    ::poll(outputs.data(), outputs.size(), 10);
    child.drain(hear);
  }
  child.drain(hear);
  return child.exit().failed()
             ? Status(Error{Errc::kInternal, fmt::format("'{}' failed: {}; {}", fmt::join(arguments, " "),
                                                         child.exit().describe(), said)})
             : Status();
}

/// Runs one iproute2 command; its arguments are separated by spaces.
Result<std::string> run(std::string_view line) {
  return run_and_capture(arguments_of(line), from_seconds(10));
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

/// The longest train of packets that leaves a link at once: 2 ms of traffic, at least 16 KiB (tbf needs some
/// packets).
std::int64_t burst_of(double bits_per_second) {
  return static_cast<std::int64_t>(std::max(16384.0, bits_per_second / 8 * 0.002));
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
  }
  if (bits_per_second > 0) {
    RUDDER_TRY(network->shape("add", bits_per_second));
  }
  return network;
}

Status VirtualNetwork::set_rate(double bits_per_second) {
  return shape("change", bits_per_second);
}

Status VirtualNetwork::shape(std::string_view verb, double bits_per_second) {
  // Packets are cut to fit the burst when they are queued, not when they leave: with a smaller burst, longer
  // ones that are in the queue would stay there, and everything behind them.
  burst_ = std::max(burst_, burst_of(bits_per_second));
  const std::string terms = fmt::format("root tbf rate {}bit burst {} latency 100ms",
                                        static_cast<std::int64_t>(std::llround(bits_per_second)), burst_);
  const auto apply = [&](const std::string& space, const std::string& interface) {
    return run_at_once(
        arguments_of(fmt::format("tc -n {} qdisc {} dev {} {}", space, verb, interface, terms)));
  };
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    RUDDER_TRY(apply(hosts_[i].network_namespace, hosts_[i].interface));
    RUDDER_TRY(apply(switch_, port_name(i)));
  }
  return {};
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

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

constexpr std::string_view kPrefix = "rud";  // interface names have 15 characters: rud PID letter number
constexpr int kSubnets = 256;

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
  if (!pid || digits == name.size() || (name[digits] != 'h' && name[digits] != 'b' && name[digits] != 'v')) {
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

std::vector<std::string> interfaces() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net", ignored)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

/// Removes what `wanted` picks; deleting a namespace also deletes its end of the veth pair, and so the other
/// end.
template <class Predicate>
void remove_networks(const Predicate& wanted) {
  const auto remove = [](const std::string& command) {
    if (const auto done = run(command); !done) {
      log_warning("clean-up: " + done.error().message);
    }
  };
  for (const std::string& name : namespaces()) {
    if (const auto owner = owner_of(name); owner && wanted(*owner)) {
      remove("ip netns del " + name);
    }
  }
  for (const std::string& name : interfaces()) {
    if (const auto owner = owner_of(name); owner && wanted(*owner)) {
      // A veth end may vanish with its namespace between listing and deleting; only what is still there
      // counts.
      if (std::filesystem::exists("/sys/class/net/" + name)) {
        remove("ip link del " + name);
      }
    }
  }
}

/// A /24 of 10.199.0.0/16 that no interface of this machine uses. Starts at a number made from the process
/// id, so that two runs that start at once choose differently.
Result<int> free_subnet() {
  RUDDER_ASSIGN(const std::string listing, run("ip -j -4 addr show"));
  std::set<int> used;
  const auto parsed = nlohmann::json::parse(listing, nullptr, false);
  if (parsed.is_array()) {
    for (const auto& link : parsed) {
      for (const auto& info : link.value("addr_info", nlohmann::json::array())) {
        const std::string address = info.value("local", "");
        if (address.starts_with("10.199.")) {
          const std::size_t start = std::string_view("10.199.").size();
          if (const auto third = parse_int(address.substr(start, address.find('.', start) - start))) {
            used.insert(static_cast<int>(*third));
          }
        }
      }
    }
  }
  for (int i = 0; i < kSubnets; ++i) {
    const int candidate = (static_cast<int>(::getpid()) + i) % kSubnets;
    if (!used.contains(candidate)) {
      return candidate;
    }
  }
  return Error{Errc::kResource, "all 256 subnets of 10.199.0.0/16 are in use on this machine"};
}

/// sysfs files report a size of one page whatever they hold, so they are read rather than mapped.
Result<std::uint64_t> read_counter(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (!(file >> value)) {
    return Error{Errc::kIo, path + ": cannot read a count"};
  }
  return value;
}

std::string veth_name(std::size_t host) {
  return fmt::format("{}{}v{}", kPrefix, ::getpid(), host);
}

/// Shapes what leaves `interface`. The burst holds 2 ms of traffic, at least 16 KiB (tbf needs some packets).
Status shape(const std::string& prefix, const std::string& interface, double bits_per_second) {
  const auto burst = static_cast<std::int64_t>(std::max(16384.0, bits_per_second / 8 * 0.002));
  const auto rate = static_cast<std::int64_t>(std::llround(bits_per_second));
  RUDDER_TRY(run(fmt::format("{}tc qdisc add dev {} root tbf rate {}bit burst {} latency 100ms", prefix,
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
  RUDDER_ASSIGN(const int subnet, free_subnet());
  auto network = std::unique_ptr<VirtualNetwork>(new VirtualNetwork);
  network->bridge_ = fmt::format("{}{}b", kPrefix, ::getpid());
  RUDDER_TRY(run(fmt::format("ip link add {} type bridge", network->bridge_)));
  // The bridge's address reserves the subnet; nothing is routed through it.
  RUDDER_TRY(run(fmt::format("ip addr add 10.199.{}.254/24 dev {}", subnet, network->bridge_)));
  RUDDER_TRY(run(fmt::format("ip link set {} up", network->bridge_)));
  for (std::size_t i = 0; i < hosts; ++i) {
    Host host;
    host.network_namespace = fmt::format("{}{}h{}", kPrefix, ::getpid(), i);
    host.address = fmt::format("10.199.{}.{}", subnet, i + 1);
    host.interface = "eth0";
    const std::string& space = host.network_namespace;
    const std::string veth = veth_name(i);
    RUDDER_TRY(run(fmt::format("ip netns add {}", space)));
    network->hosts_.push_back(host);
    RUDDER_TRY(run(fmt::format("ip link add {} type veth peer name eth0 netns {}", veth, space)));
    RUDDER_TRY(run(fmt::format("ip link set {} master {} up", veth, network->bridge_)));
    RUDDER_TRY(run(fmt::format("ip -n {} addr add {}/24 dev eth0", space, host.address)));
    RUDDER_TRY(run(fmt::format("ip -n {} link set eth0 up", space)));
    RUDDER_TRY(run(fmt::format("ip -n {} link set lo up", space)));
    if (bits_per_second > 0) {
      RUDDER_TRY(shape(fmt::format("ip netns exec {} ", space), "eth0", bits_per_second));
      RUDDER_TRY(shape("", veth, bits_per_second));
    }
  }
  return network;
}

VirtualNetwork::~VirtualNetwork() {
  remove_networks([](pid_t owner) { return owner == ::getpid(); });
}

Result<LinkBytes> VirtualNetwork::bytes(std::size_t host) const {
  // Seen from the bridge: what it transmits on the veth is what the host receives.
  const std::string base = fmt::format("/sys/class/net/{}/statistics/", veth_name(host));
  LinkBytes result;
  RUDDER_ASSIGN(result.received, read_counter(base + "tx_bytes"));
  RUDDER_ASSIGN(result.sent, read_counter(base + "rx_bytes"));
  return result;
}

}  // namespace rudder::launch

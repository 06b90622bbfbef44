// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_cluster.h"

#include <deque>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/interrupt.h"
#include "rudder/launch/process.h"
#include "rudder/launch/rank_env.h"
#include "rudder/launch/run_secret.h"

#include "cli/run_result.h"

namespace rudder::cli {
namespace {

constexpr std::uint16_t kNamespacePort = 29500;  // every namespace has all ports to itself
constexpr std::size_t kKeptLines = 12;

}  // namespace

Result<Cluster> Cluster::create(const ClusterOptions& options) {
  Cluster cluster;
  cluster.options_ = options;
  const std::string rate = options.link_bits_per_second > 0 ? options.link_text : "unshaped";
  if (options.kind != "token-bucket") {
    const Status possible = launch::can_make_network();
    if (possible) {
      RUDDER_ASSIGN(cluster.network_,
                    launch::VirtualNetwork::create(options.hosts, options.link_bits_per_second));
      cluster.description_ = fmt::format("{} veth links between {} network namespaces{}", rate, options.hosts,
                                         options.link_bits_per_second > 0 ? ", shaped both ways by tbf" : "");
      return cluster;
    }
    if (options.kind == "namespaces") {
      return possible.error();
    }
    cluster.description_ =
        fmt::format("{} (token bucket in the program, feature traffic only; no namespaces: {})", rate,
                    possible.error().message);
    return cluster;
  }
  cluster.description_ = fmt::format("{} (token bucket in the program, feature traffic only)", rate);
  return cluster;
}

Result<ClusterRun> Cluster::run(const std::vector<std::string>& arguments, const std::filesystem::path& run,
                                const std::function<void(std::string_view)>& on_line) {
  RUDDER_TRY(make_directories(run));
  std::uint16_t port = kNamespacePort;
  if (!network_) {
    RUDDER_ASSIGN(port, launch::free_port());
  }
  std::vector<launch::Command> commands;
  const Secret secret;  // of this run alone
  for (std::size_t i = 0; i < options_.hosts; ++i) {
    launch::Command command;
    command.name = fmt::format("rank {}", i);
    command.arguments = {options_.executable, "train"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    for (const std::string& word :
         {std::string("--run"), run.string(), std::string("--host"), fmt::format("host{}", i)}) {
      command.arguments.push_back(word);
    }
    command.environment = {{"RANK", std::to_string(i)},
                           {"WORLD_SIZE", std::to_string(options_.hosts)},
                           {"MASTER_ADDR", network_ ? network_->hosts()[0].address : "127.0.0.1"},
                           {"MASTER_PORT", std::to_string(port)},
                           {launch::kSecretVariable, secret.hex()}};
    if (network_) {
      command.network_namespace = network_->hosts()[i].network_namespace;
      command.environment.emplace_back("GLOO_SOCKET_IFNAME", network_->hosts()[i].interface);
      // Without these UCX would take shared memory between the namespaces and pass the links by.
      command.environment.emplace_back("UCX_TLS", "tcp,self");
      command.environment.emplace_back("UCX_NET_DEVICES", network_->hosts()[i].interface);
    } else {
      command.environment.emplace_back("GLOO_SOCKET_IFNAME", "lo");
      if (options_.link_bits_per_second > 0) {
        command.arguments.insert(command.arguments.end(), {"--link", options_.link_text});
      }
    }
    commands.push_back(std::move(command));
  }
  std::deque<std::string> last_lines;
  launch::SuperviseOptions supervise;
  supervise.on_line = [&](std::size_t rank, launch::Stream, std::string_view line) {
    last_lines.push_back(fmt::format("[rank {}] {}", rank, line));
    if (last_lines.size() > kKeptLines) {
      last_lines.pop_front();
    }
    if (rank == 0) {
      on_line(line);
    }
  };
  const std::uint64_t before = received_bytes();
  RUDDER_ASSIGN(const launch::SuperviseResult ended, launch::supervise(commands, supervise));
  received_signal_ = ended.received_signal;
  if (ended.received_signal != 0) {
    return Error{Errc::kCancelled, "stopped by " + signal_text(ended.received_signal)};
  }
  if (ended.first_failure) {
    return Error{Errc::kPeer,
                 fmt::format("{}; last output:\n{}", ended.exits[*ended.first_failure].describe(),
                             fmt::join(last_lines, "\n"))};
  }
  ClusterRun finished;
  RUDDER_ASSIGN(finished.result, read_run_result(run));
  finished.link_bytes = received_bytes() - before;
  return finished;
}

std::uint64_t Cluster::received_bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; network_ && i < network_->hosts().size(); ++i) {
    const auto bytes = network_->bytes(i);
    sum += bytes ? bytes->received : 0;
  }
  return sum;
}

}  // namespace rudder::cli

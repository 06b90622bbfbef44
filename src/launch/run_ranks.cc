// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rudder/launch/run.h"
#include "rudder/launch/run_secret.h"

namespace rudder::launch {
namespace {

/// Ranks that are all on this machine meet over its loopback interface, unless somebody says otherwise: of
/// all interfaces with an address libraries might take one that goes while the ranks run, a container's, say.
void stay_on_loopback(const RunSpec& spec, std::vector<std::pair<std::string, std::string>>& environment) {
  const auto is_set = [&](std::string_view name) {
    return std::getenv(std::string(name).c_str()) != nullptr ||
           std::any_of(spec.environment.begin(), spec.environment.end(),
                       [&](const auto& variable) { return variable.first == name; });
  };
  if (spec.master_address != "127.0.0.1") {
    return;
  }
  if (!is_set("GLOO_SOCKET_IFNAME")) {
    environment.emplace_back("GLOO_SOCKET_IFNAME", "lo");
  }
  if (!is_set("UCX_NET_DEVICES") && !is_set("UCX_TLS")) {
    environment.emplace_back("UCX_NET_DEVICES", "lo");
  }
}

}  // namespace

Result<SuperviseResult> run_ranks(const RunSpec& spec, RankRange ranks, const std::string& program,
                                  SuperviseOptions options) {
  std::vector<Command> commands;
  for (Rank local = 0; local < ranks.count; ++local) {
    const Rank rank = ranks.first + local;
    Command command;
    command.name = fmt::format("rank {}", rank);
    if (spec.own) {
      command.arguments.push_back(program);
    }
    command.arguments.insert(command.arguments.end(), spec.command.begin(), spec.command.end());
    command.environment = spec.environment;
    const std::vector<std::pair<std::string, std::string>> own = {
        {"RANK", std::to_string(rank)},
        {"LOCAL_RANK", std::to_string(local)},
        {"WORLD_SIZE", std::to_string(spec.world)},
        {"MASTER_ADDR", spec.master_address},
        {"MASTER_PORT", std::to_string(spec.master_port)},
        {kSecretVariable, spec.secret.hex()}};
    command.environment.insert(command.environment.end(), own.begin(), own.end());
    stay_on_loopback(spec, command.environment);
    commands.push_back(std::move(command));
  }
  options.grace = spec.grace;
  return supervise(commands, options);
}

Result<RunOutcome> run_here(const RunSpec& spec, const std::string& program, const RunListener& listener) {
  SuperviseOptions options;
  options.on_line = [&](std::size_t child, Stream stream, std::string_view line) {
    listener.on_line(static_cast<Rank>(child), {}, stream, line);
  };
  RUDDER_ASSIGN(const SuperviseResult ended, run_ranks(spec, {0, spec.world}, program, options));
  RunOutcome outcome;
  outcome.received_signal = ended.received_signal;
  outcome.all_succeeded =
      std::none_of(ended.exits.begin(), ended.exits.end(), [](const Exit& exit) { return exit.failed(); });
  if (ended.first_failure) {
    const Exit& exit = ended.exits[*ended.first_failure];
    outcome.failure = Failure{exit.describe(), exit.code, exit.signal != 0};
  }
  return outcome;
}

}  // namespace rudder::launch

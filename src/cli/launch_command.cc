// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "rudder/core/interrupt.h"
#include "rudder/launch/process.h"
#include "rudder/launch/rank_env.h"
#include "rudder/launch/run_secret.h"

#include "cli/command.h"

namespace rudder::cli {
namespace {

bool is_own_command(const std::string& word) {
  return std::any_of(command_table().begin(), command_table().end(), [&](const CommandInfo& info) {
    return info.name == word ||
           (info.name.starts_with(word) && info.name.substr(word.size()).starts_with(' '));
  });
}

class Launch final : public Command {
 public:
  Launch() {
    options().real("grace", grace_, 0, 3600, "Seconds between asking ranks to stop and killing them");
    options().integer<std::uint16_t>("port", port_, 0, 65535,
                                     "TCP port of rank 0's rendezvous; 0 picks a free one");
  }
  void add_arguments(Arguments& arguments) override {
    arguments.number("-n,--ranks", ranks_, 1, 4096, "Ranks to start");
    arguments.rest("COMMAND", command_,
                   "After --: a rudder command (train …) or any program with its arguments");
    arguments.footer(
        "Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and RUDDER_SECRET. Standard "
        "output of\n"
        "rank 0 passes through line by line; everything else comes out on standard error with the rank in "
        "front. The\n"
        "first rank that fails ends all, and its exit code is launch's.");
  }

  Result<int> run(const Program& program) override {
    if (port_ == 0) {
      RUDDER_ASSIGN(port_, launch::free_port());
    }
    launch::SuperviseOptions supervise;
    supervise.grace = from_seconds(grace_);
    supervise.on_line = [](const std::string& name, launch::Stream stream, std::string_view line) {
      if (stream == launch::Stream::kOut && name == "rank 0") {
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fputc('\n', stdout);
        std::fflush(stdout);
      } else {
        std::fprintf(stderr, "[%s] %.*s\n", name.c_str(), static_cast<int>(line.size()), line.data());
      }
    };
    RUDDER_ASSIGN(const launch::SuperviseResult result, launch::supervise(make_commands(program), supervise));
    if (result.first_failure) {
      const launch::Exit& exit = result.exits[*result.first_failure];
      say(fmt::format("rudder: {}; the other ranks were stopped", exit.describe()));
      return exit.code;
    }
    const bool failed = std::any_of(result.exits.begin(), result.exits.end(),
                                    [](const launch::Exit& exit) { return exit.failed(); });
    if (result.received_signal != 0 && failed) {
      say("rudder: stopped by " + signal_text(result.received_signal));
      return 128 + result.received_signal;
    }
    return 0;
  }

 private:
  [[nodiscard]] std::vector<launch::Command> make_commands(const Program& program) const {
    std::vector<launch::Command> commands;
    const Secret secret;  // of this run alone
    for (int rank = 0; rank < ranks_; ++rank) {
      launch::Command command;
      command.name = fmt::format("rank {}", rank);
      if (is_own_command(command_.front())) {
        command.arguments.push_back(program.executable);
      }
      command.arguments.insert(command.arguments.end(), command_.begin(), command_.end());
      command.environment = {{"RANK", std::to_string(rank)},         {"LOCAL_RANK", std::to_string(rank)},
                             {"WORLD_SIZE", std::to_string(ranks_)}, {"MASTER_ADDR", "127.0.0.1"},
                             {"MASTER_PORT", std::to_string(port_)}, {launch::kSecretVariable, secret.hex()}};
      if (std::getenv("GLOO_SOCKET_IFNAME") == nullptr) {
        command.environment.emplace_back("GLOO_SOCKET_IFNAME", "lo");
      }
      // Of all interfaces with an address UCX might take one that goes while the ranks run: a container's,
      // say.
      if (std::getenv("UCX_NET_DEVICES") == nullptr && std::getenv("UCX_TLS") == nullptr) {
        command.environment.emplace_back("UCX_NET_DEVICES", "lo");
      }
      commands.push_back(std::move(command));
    }
    return commands;
  }

  int ranks_ = 0;
  double grace_ = 5;
  std::uint16_t port_ = 0;
  std::vector<std::string> command_;
};

}  // namespace

std::unique_ptr<Command> make_launch() {
  return std::make_unique<Launch>();
}

}  // namespace rudder::cli

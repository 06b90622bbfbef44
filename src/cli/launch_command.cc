// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "rudder/core/clock.h"
#include "rudder/core/files.h"
#include "rudder/core/interrupt.h"
#include "rudder/core/secret.h"
#include "rudder/core/text.h"
#include "rudder/launch/rank_env.h"
#include "rudder/launch/run.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/restartable.h"

namespace rudder::cli {
namespace {

/// Variables that go along to hosts, beside those that --export names.
constexpr std::array<std::string_view, 6> kExported = {"RUDDER_", "UCX_", "GLOO_",
                                                       "NCCL_",   "OMP_", "OPENBLAS_"};

bool is_own_command(const std::string& word) {
  return std::any_of(command_table().begin(), command_table().end(), [&](const CommandInfo& info) {
    return info.name == word ||
           (info.name.starts_with(word) && info.name.substr(word.size()).starts_with(' '));
  });
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t start = text.find_first_not_of(' '); start < text.size();
       start = text.find_first_not_of(' ', start)) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end;
  }
  return words;
}

class Launch final : public Command {
 public:
  Launch() {
    options().real("grace", grace_, 0, 3600, "Seconds between asking ranks to stop and killing them");
    options().integer<std::uint16_t>("port", port_, 0, 65535,
                                     "TCP port of rank 0's rendezvous; 0 picks a free one");
    options().path("hosts", hosts_file_,
                   "Hosts to spread the ranks over, a line each: NAME [slots=N] [address=ADDRESS]");
    options().text("ssh", "COMMAND", ssh_,
                   "What starts a command on a host: these words, the host's name, the command");
    options().path("remote-program", remote_program_, "This program's path on the hosts; empty: as here");
    options().text(
        "export", "NAMES", exported_,
        "Variables for ranks on hosts, separated by commas, beside RUDDER_*, UCX_*, GLOO_*, NCCL_*, "
        "OMP_* and OPENBLAS_*");
    options().real("deadline", deadline_, 0.5, 86400,
                   "Seconds within which a host must answer, and the longest that it may be silent");
    options().choice("on-failure", on_failure_, {"stop", "shrink"},
                     "When a rank is killed or a host lost: stop ends the run; shrink starts as many ranks "
                     "again on the hosts that are left, from the last checkpoint");
    options().integer("restarts", restarts_, 1, 1'000'000, "Times that shrink starts the ranks again");
  }
  void add_arguments(Arguments& arguments) override {
    arguments.number("-n,--ranks", ranks_, 1, static_cast<int>(launch::kMostRanks),
                     "Ranks to start; with --hosts by default one a slot");
    arguments.rest("COMMAND", command_,
                   "After --: a rudder command (train …) or any program with its arguments");
    arguments.footer(
        "Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and RUDDER_SECRET. Standard "
        "output of\n"
        "rank 0 passes through line by line; everything else comes out on standard error with the rank in "
        "front. The\n"
        "first rank that fails ends all, and its exit code is launch's, unless --on-failure starts them "
        "again.");
  }

  Result<int> run(const Program& program) override {
    RUDDER_TRY(read_hosts());
    spec_.command = command_;
    spec_.own = is_own_command(command_.front());
    spec_.grace = from_seconds(grace_);
    spec_.world = static_cast<Rank>(ranks_);
    if (!hosts_.empty()) {
      RUDDER_TRY(choose_environment());
    }
    if (restarts_wanted()) {
      RUDDER_ASSIGN(resumed_, resumed_command(command_, hosts_.empty() ? Places::kStay : Places::kMayMove));
    } else if (options().origin("restarts") == "the command line") {
      return Error{Errc::kInvalidArgument, "--restarts needs --on-failure shrink"};
    }
    for (;;) {
      RUDDER_ASSIGN(const launch::RunOutcome outcome, start_and_watch(program));
      if (!can_restart(outcome)) {
        return report(outcome);
      }
      prepare_restart(outcome);
    }
  }

 private:
  Status read_hosts() {
    if (hosts_file_.empty()) {
      for (const char* key : {"ssh", "remote-program", "export", "deadline"}) {
        if (options().origin(key) == "the command line") {
          return Error{Errc::kInvalidArgument, fmt::format("--{} needs --hosts FILE", key)};
        }
      }
      return ranks_ > 0 ? Status()
                        : Error{Errc::kInvalidArgument, "how many ranks: launch needs -n N or --hosts FILE"};
    }
    constexpr std::size_t kLongestFile = std::size_t{1} << 20;
    RUDDER_ASSIGN(const std::string text, read_text(hosts_file_, kLongestFile));
    RUDDER_ASSIGN(hosts_, launch::parse_hosts(text, hosts_file_.string()));
    const Rank slots = launch::slots_of(hosts_);
    if (ranks_ > static_cast<int>(slots)) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: {} slots for {} ranks", hosts_file_.string(), slots, ranks_)};
    }
    if (ranks_ == 0) {
      ranks_ = static_cast<int>(slots);
    }
    return words_of(ssh_).empty() ? Error{Errc::kInvalidArgument, "--ssh names no command"} : Status();
  }

  Status choose_environment() {
    const auto take = [&](const std::string& name, const std::string& value) {
      if (name != "RUDDER_SECRET" && name != "RUDDER_HOST") {
        spec_.environment.emplace_back(name, value);
      }
    };
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      const std::string name(text.substr(0, text.find('=')));
      if (std::any_of(kExported.begin(), kExported.end(),
                      [&](std::string_view prefix) { return name.starts_with(prefix); })) {
        take(name, std::string(text.substr(std::min(name.size() + 1, text.size()))));
      }
    }
    for (const std::string& name : exported_.empty() ? std::vector<std::string>() : split_list(exported_)) {
      const char* value = std::getenv(name.c_str());
      if (value == nullptr) {
        return Error{Errc::kInvalidArgument, fmt::format("--export names {}, which is not set", name)};
      }
      take(name, value);
    }
    return {};
  }

  Result<launch::RunOutcome> start_and_watch(const Program& program) {
    spec_.master_port = port_;
    const launch::RunListener listener{
        .on_line = [this](Rank rank, const std::string& host, launch::Stream stream,
                          std::string_view line) { take_line(rank, host, stream, line); },
        .on_host_line = show_host_line};
    if (hosts_.empty()) {
      if (port_ == 0) {
        RUDDER_ASSIGN(spec_.master_port, launch::free_port());
      }
      return launch::run_here(spec_, program.executable, listener);
    }
    launch::RemoteOptions remote;
    remote.ssh = words_of(ssh_);
    remote.program = remote_program_.empty() ? program.executable : remote_program_.string();
    remote.version = RUDDER_VERSION;
    remote.deadline = from_seconds(deadline_);
    return launch::run_on_hosts(hosts_, spec_, remote, listener);
  }

  void take_line(Rank rank, const std::string& host, launch::Stream stream, std::string_view line) {
    if (stream == launch::Stream::kOut && rank == 0) {
      if (restarts_wanted()) {
        held_.append(line).push_back('\n');
      } else {
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fputc('\n', stdout);
        std::fflush(stdout);
      }
    } else {
      std::fprintf(stderr, "[rank %u%s%s] %.*s\n", rank, host.empty() ? "" : " on ", host.c_str(),
                   static_cast<int>(line.size()), line.data());
    }
  }

  static void show_host_line(const std::string& host, std::string_view line) {
    say(fmt::format("[host {}] {}", host, line));
  }

  [[nodiscard]] bool restarts_wanted() const noexcept { return on_failure_ == "shrink"; }

  /// Hosts that answer still.
  [[nodiscard]] std::vector<launch::HostEntry> hosts_left(const launch::RunOutcome& outcome) const {
    std::vector<launch::HostEntry> left;
    std::copy_if(hosts_.begin(), hosts_.end(), std::back_inserter(left), [&](const launch::HostEntry& host) {
      return std::find(outcome.lost.begin(), outcome.lost.end(), host.name) == outcome.lost.end();
    });
    return left;
  }

  [[nodiscard]] bool can_restart(const launch::RunOutcome& outcome) const {
    // A host that cannot be reached is wrong usage at first, and a lost host later on.
    const bool was_running = outcome.started || restarts_used_ > 0;
    return restarts_wanted() && outcome.failure && outcome.failure->restart_helps && was_running &&
           outcome.received_signal == 0 && restarts_used_ < restarts_ &&
           (hosts_.empty() || !hosts_left(outcome).empty());
  }

  /// Returns when no rank of the run before can be alive any more.
  void prepare_restart(const launch::RunOutcome& outcome) {
    ++restarts_used_;
    hosts_ = hosts_left(outcome);
    std::string names;
    for (const launch::HostEntry& host : hosts_) {
      names += (names.empty() ? " on " : ", ") + host.name;
    }
    const double wait = to_seconds(outcome.ranks_gone - steady_clock().now());
    say(fmt::format("rudder: {}; restart {} of {}{}{}", outcome.failure->what, restarts_used_, restarts_,
                    names, wait > 0 ? fmt::format(", in {:.0f} s, when lost ranks have ended", wait) : ""));
    steady_clock().sleep_until(outcome.ranks_gone);
    held_.clear();
    spec_.command = resumed_;
    spec_.secret = Secret();  // ranks of the run before cannot take part in this one
  }

  [[nodiscard]] int report(const launch::RunOutcome& outcome) const {
    std::fwrite(held_.data(), 1, held_.size(), stdout);
    if (outcome.failure) {
      std::string text = "rudder: " + outcome.failure->what;
      text += outcome.started ? "; the other ranks were stopped" : "";
      text += restarts_used_ > 0 ? fmt::format("; restarts used: {}", restarts_used_) : "";
      text += restarts_wanted() && !hosts_.empty() && hosts_left(outcome).empty() ? "; no host is left" : "";
      say(text);
      return outcome.failure->code;
    }
    if (outcome.received_signal != 0 && !outcome.all_succeeded) {
      say("rudder: stopped by " + signal_text(outcome.received_signal));
      return 128 + outcome.received_signal;
    }
    return outcome.all_succeeded ? 0 : 1;
  }

  int ranks_ = 0;
  double grace_ = 5;
  std::uint16_t port_ = 0;
  std::filesystem::path hosts_file_;
  std::string ssh_ = "ssh -T -o BatchMode=yes";
  std::filesystem::path remote_program_;
  std::string exported_;
  double deadline_ = 20;
  std::string on_failure_ = "stop";
  int restarts_ = 3;
  int restarts_used_ = 0;
  std::vector<std::string> command_;
  std::vector<std::string> resumed_;      ///< the command of restarts
  std::vector<launch::HostEntry> hosts_;  ///< empty: this machine
  launch::RunSpec spec_;
  std::string held_;  ///< standard output of rank 0, of which only the last start's counts
};

/// The other end of --hosts.
class Warden final : public Command {
 public:
  Result<int> run(const Program& program) override {
    return launch::run_warden(program.executable, RUDDER_VERSION);
  }
};

}  // namespace

std::unique_ptr<Command> make_launch() {
  return std::make_unique<Launch>();
}

std::unique_ptr<Command> make_warden() {
  return std::make_unique<Warden>();
}

}  // namespace rudder::cli

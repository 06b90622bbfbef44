// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/machine.h"
#include "rudder/launch/rank_env.h"

#include "cli/command.h"
#include "cli/metrics_option.h"
#include "cli/run_options.h"
#include "cli/stop_signal.h"
#include "cli/trainer.h"

namespace rudder::cli {
namespace {

nlohmann::ordered_json run_json(const dataplane::ServedRun& run) {
  return {{"steps", run.steps},
          {"requests", run.counts.requests},
          {"hits", run.counts.hits},
          {"fetched", run.counts.fetched},
          {"bypassed", run.counts.bypassed},
          {"payload_bytes", run.transfer.payload_bytes},
          {"wire_bytes", run.transfer.wire_bytes},
          {"messages", run.transfer.messages}};
}

class Serve final : public Command {
 public:
  Serve() {
    options().path("socket", serve_.socket, "Where this host's trainers attach (train --attach); mode 0600");
    options().choice("policy", serve_.sharing.policy, policy_names(true),
                     "What the buffer of remote rows keeps");
    add_buffer_option(options(), serve_.buffer,
                      "Rows of the host's buffer: a fraction of its halo or a number");
    add_policy_settings(options(), serve_.sharing.settings);
    options().integer<std::uint32_t>("depth", serve_.sharing.depth, 0, 1024,
                                     "Batches fetched ahead of the one in training; 0 overlaps nothing");
    options().real("deadline", serve_.deadline_seconds, 0.1, 86400,
                   "Seconds that any wait for another host may last, and for the last trainer to attach");
    add_link_option(options(), link_, serve_.link_bits_per_second,
                    "Token-bucket limit of this host's data-plane link, each way");
    options().integer<std::uint64_t>(
        "runs", serve_.runs, 0, std::uint64_t{1} << 40,
        "End after so many runs of the host's trainers; 0: on SIGTERM or SIGINT");
    options().text("host", "NAME", host_, "This host's name in messages");
    metrics_.add_to(options());
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("PARTITION", serve_.partition,
                  "Partition folder, its parts divided evenly among the hosts");
    arguments.footer(
        "One process a host: it is rank RANK of WORLD_SIZE hosts (see rudder launch) and serves "
        "parts/WORLD_SIZE "
        "trainers,\nwhich share one buffer and one fetch of each row.");
  }

  Result<int> run(const Program& program) override {
    RUDDER_ASSIGN(const Trainer* const trainer, find_trainer(program));
    if (serve_.socket.empty()) {
      return Error{Errc::kInvalidArgument, "serve needs --socket PATH"};
    }
    RUDDER_ASSIGN(const launch::RankEnvironment environment, launch::rank_from_environment());
    RUDDER_ASSIGN(const train::RankInfo who, rank_info(environment, host_));
    RUDDER_ASSIGN(const std::uint32_t local, launch::local_rank(environment));
    RUDDER_ASSIGN(const std::unique_ptr<metrics::Exporter> exporter, metrics_.start(local, ""));
    serve_.figures = &metrics_.figures();  // rudder top asks for them at the socket
    RUDDER_ASSIGN(const int stop_event, stop_on_signals());
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    const auto on_run = [&](const dataplane::ServedRun& run) {
      runs.push_back(run_json(run));
      say(fmt::format("run of {} steps served: hits {} of {}, fetched {}", run.steps, run.counts.hits,
                      run.counts.requests, run.counts.fetched));
    };
    RUDDER_TRY(trainer->serve_host(
        serve_, who, on_run, [](const std::string& text) { say(text); }, stop_event));
    if (json()) {
      print_json({{"policy", serve_.sharing.policy},
                  {"host", environment.rank},
                  {"hosts", environment.world},
                  {"runs", std::move(runs)},
                  {"peak_rss_bytes", peak_rss_bytes()}});
    }
    return 0;
  }

 private:
  train::ServeOptions serve_;
  std::string link_ = "none";
  std::string host_ = host_name();
  MetricsOption metrics_;
};

}  // namespace

std::unique_ptr<Command> make_serve() {
  return std::make_unique<Serve>();
}

}  // namespace rudder::cli

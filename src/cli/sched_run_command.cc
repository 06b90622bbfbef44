// SPDX-License-Identifier: Apache-2.0
// rudder sched run, rudder sched status: the planner on a real Slurm.
#include <chrono>
#include <ctime>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "rudder/launch/process.h"
#include "rudder/place/topology_files.h"
#include "rudder/sched/slurm_engine.h"

#include "cli/command.h"

namespace rudder::cli {
namespace {

/// How Slurm is reached and which part of it is driven.
class SlurmInput {
 public:
  void add_options(OptionTable& options) {
    options.path("topology", topology_, "Topology file of the cluster; empty: scontrol show topology");
    options.integer<std::int32_t>("minipod-level", slurm_.minipod_level, -1, 63,
                                  "Distance of minipods from the root of the topology; -1: 1, or 0 for roots "
                                  "without children");
    options.text("partition", "NAME", slurm_.partition,
                 "Partition whose nodes and jobs are driven; empty: the only one");
    options.real("deadline", deadline_, 0.1, 3600, "Seconds that each command of Slurm may take");
    options.choice("policy", policy_, {"fifo", "easy", "reserve"}, "Order and reservations");
    options.choice("preemption", preemption_, {"on", "off"},
                   "reserve: whether jobs of higher priority requeue preemptible ones of lower");
    options.integer<sched::Time>("age", planner_.age, 0, sched::Time{1} << 40,
                                 "Seconds of waiting that are worth one step of priority; 0: no ageing");
    options.integer<sched::Time>(
        "grace", slurm_.grace, 0, 86'400,
        "Seconds between SIGTERM and the requeue of a preempted job; 0: Slurm's KillWait");
    options.integer<sched::Time>("patience", planner_.patience, 1, sched::Time{1} << 30,
                                 "Seconds after which a zone expires whose job could not start");
    options.integer<sched::Time>(
        "start-patience", slurm_.start_patience, 1, 86'400,
        "Seconds after which a released job that Slurm has not started is planned anew");
  }

  [[nodiscard]] Result<std::unique_ptr<sched::SlurmEngine>> open() {
    std::optional<place::Topology> topology;
    if (!topology_.empty()) {
      RUDDER_ASSIGN(place::TopologyFile file, place::read_topology(topology_));
      topology = std::move(file.topology);
    }
    return sched::SlurmEngine::open(
        slurm_, runner(), [] { return static_cast<sched::Time>(std::time(nullptr)); }, std::move(topology));
  }

  [[nodiscard]] Result<sched::PlannerOptions> planner() const {
    sched::PlannerOptions options = planner_;
    RUDDER_ASSIGN(options.policy, sched::parse_policy(policy_));
    options.preemption = preemption_ == "on";
    options.grace = slurm_.grace;
    options.reasons = true;
    return options;
  }

  [[nodiscard]] sched::SlurmOptions& slurm() noexcept { return slurm_; }

 private:
  [[nodiscard]] sched::SlurmEngine::Runner runner() const {
    return [limit = deadline_](const std::vector<std::string>& words) -> Result<std::string> {
      const TimePoint begin = steady_clock().now();
      Result<std::string> said = launch::run_and_capture(words, from_seconds(limit));
      if (!said && steady_clock().now() - begin >= from_seconds(limit)) {
        return Error{Errc::kTimeout,
                     fmt::format("'{}' did not end within {} s", fmt::join(words, " "), limit)};
      }
      return said;
    };
  }

  std::filesystem::path topology_;
  std::string policy_ = "reserve";
  std::string preemption_ = "on";
  double deadline_ = 20;
  sched::SlurmOptions slurm_{.partition = {}, .hosts = {}, .minipod_level = -1};
  sched::PlannerOptions planner_;
};

/// What one cycle did.
struct CycleLog {
  Json actions = Json::array();

  void add(const sched::SlurmAction& action, const Error* error) {
    if (error != nullptr) {
      actions.back()["error"] = error->message;
      return;
    }
    Json commands = Json::array();
    for (const sched::SlurmCommand& command : action.commands) {
      commands.push_back(command.describe());
    }
    actions.push_back({{"kind", action.kind},
                       {"job", action.job},
                       {"reason", action.reason},
                       {"commands", std::move(commands)}});
  }
};

class SchedRun final : public Command {
 public:
  SchedRun() {
    input_.add_options(options());
    options().path("host-files", input_.slurm().hosts,
                   "Folder, seen by all nodes, for host files JOB.hosts in rank order; empty: none");
    options().real("interval", interval_, 0.05, 3600, "Seconds between cycles");
    options().toggle("once", once_, "One cycle, then end");
    options().toggle("dry-run", dry_, "Print the commands of one cycle and give none");
    add_json_option();
  }

  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const sched::PlannerOptions planning, input_.planner());
    // Signals end the program between two cycles; whatever ends it elsewhere loses nothing either.
    const launch::SignalScope signals;
    RUDDER_ASSIGN(const std::unique_ptr<sched::SlurmEngine> engine, input_.open());
    sched::Planner planner(planning);
    engine->set_dry(dry_);
    if (!json()) {
      say(fmt::format("partition {}: {} hosts in {} minipods", engine->options().partition,
                      engine->cluster().hosts(), engine->cluster().minipods()));
    }
    while (true) {
      const TimePoint begin = steady_clock().now();
      const Status done = cycle(*engine, planner);
      if (!done && (once_ || dry_)) {
        return done.error();
      }
      if (!done) {
        say(done.error().message);
      }
      if (once_ || dry_) {
        return engine->failures() > 0 ? 1 : 0;
      }
      if (const int signal = wait_until(begin + from_seconds(interval_)); signal != 0) {
        return 128 + signal;
      }
    }
  }

 private:
  Status cycle(sched::SlurmEngine& engine, sched::Planner& planner) {
    CycleLog log;
    engine.set_observer([&](const sched::SlurmAction& action, const Error* error) {
      log.add(action, error);
      if (!json()) {
        tell(action, error);
      }
    });
    const Status done = engine.cycle(planner);
    engine.set_observer(nullptr);
    RUDDER_TRY(done);
    if (json()) {
      print_json(result(engine, std::move(log)));
    } else {
      tell_waiting(engine);
    }
    return {};
  }

  void tell(const sched::SlurmAction& action, const Error* error) const {
    if (error != nullptr) {
      say(fmt::format("  failed: {}", error->message));
      return;
    }
    say(fmt::format("{} job {}: {}", action.kind, action.job, action.reason));
    for (const sched::SlurmCommand& command : action.commands) {
      if (dry_) {
        say("  " + command.describe());
      }
    }
  }

  /// Reasons are said when they change.
  void tell_waiting(const sched::SlurmEngine& engine) {
    std::map<sched::JobId, std::string> reasons;
    for (const sched::Delayed& delayed : engine.last_plan().delayed) {
      reasons[delayed.job] = fmt::format("job {} waits: {}", delayed.job, sched::delay_name(delayed.reason));
    }
    for (const auto& [job, why] : engine.view().set_aside()) {
      reasons[job] = fmt::format("job {} is left alone: {}", job, why);
    }
    for (const auto& [job, text] : reasons) {
      const auto before = reasons_.find(job);
      if (before == reasons_.end() || before->second != text) {
        say(text);
      }
    }
    reasons_ = std::move(reasons);
  }

  static Json result(const sched::SlurmEngine& engine, CycleLog log) {
    Json waiting = Json::array();
    for (const sched::Delayed& delayed : engine.last_plan().delayed) {
      waiting.push_back({{"job", delayed.job}, {"reason", sched::delay_name(delayed.reason)}});
    }
    Json aside = Json::array();
    for (const auto& [job, why] : engine.view().set_aside()) {
      aside.push_back({{"job", job}, {"reason", why}});
    }
    return {{"partition", engine.options().partition}, {"now", engine.view().snapshot().now},
            {"actions", std::move(log.actions)},       {"waiting", std::move(waiting)},
            {"left_alone", std::move(aside)},          {"failures", engine.failures()}};
  }

  /// The signal that came meanwhile, or 0.
  static int wait_until(TimePoint end) {
    constexpr Duration kSlice = std::chrono::milliseconds(100);
    while (true) {
      if (const int signal = launch::SignalScope::take(); signal != 0) {
        return signal;
      }
      const TimePoint now = steady_clock().now();
      if (now >= end) {
        return 0;
      }
      std::this_thread::sleep_for(std::min(kSlice, end - now));
    }
  }

  SlurmInput input_;
  double interval_ = 5;
  bool once_ = false;
  bool dry_ = false;
  std::map<sched::JobId, std::string> reasons_;
};

class SchedStatus final : public Command {
 public:
  SchedStatus() {
    input_.add_options(options());
    add_json_option();
  }

  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const sched::PlannerOptions planning, input_.planner());
    RUDDER_ASSIGN(const std::unique_ptr<sched::SlurmEngine> engine, input_.open());
    sched::Planner planner(planning);
    RUDDER_ASSIGN(const sched::Snapshot seen, engine->snapshot());
    const sched::Plan plan = planner.plan(seen);
    Json waiting = Json::array();
    for (const sched::Delayed& delayed : plan.delayed) {
      const std::vector<std::string> lines = sched::explain(seen, delayed.job);
      waiting.push_back(
          {{"job", delayed.job}, {"reason", sched::delay_name(delayed.reason)}, {"domains", lines}});
      if (!json()) {
        say(fmt::format("job {}: {}\n  {}", delayed.job, sched::delay_name(delayed.reason),
                        fmt::join(lines, "\n  ")));
      }
    }
    Json aside = Json::array();
    for (const auto& [job, why] : engine->view().set_aside()) {
      aside.push_back({{"job", job}, {"reason", why}});
      if (!json()) {
        say(fmt::format("job {} is left alone: {}", job, why));
      }
    }
    if (json()) {
      print_json({{"partition", engine->options().partition}, {"waiting", waiting}, {"left_alone", aside}});
    }
    return 0;
  }

 private:
  SlurmInput input_;
};

}  // namespace

std::unique_ptr<Command> make_sched_run() {
  return std::make_unique<SchedRun>();
}
std::unique_ptr<Command> make_sched_status() {
  return std::make_unique<SchedStatus>();
}

}  // namespace rudder::cli

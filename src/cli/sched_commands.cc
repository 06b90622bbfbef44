// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/log.h"
#include "rudder/report/table.h"
#include "rudder/sched/gantt.h"
#include "rudder/sched/sim_metrics.h"

#include "cli/command.h"
#include "cli/sched_options.h"
#include "cli/sched_result.h"

namespace rudder::cli {
namespace {

const std::vector<std::string> kPredictors = {"none", "oracle", "learned", "given"};
constexpr const char* kPredictorHelp =
    "Run times that the planner is told: none: the user's limit, oracle: the truth, learned: a quantile of a "
    "model, given: the trace's column 'predicted'";

/// Base of the commands that read a trace and know of predictions.
class TraceCommand : public Command {
 protected:
  /// The trace on that cluster; says what it leaves out.
  [[nodiscard]] Result<sched::Trace> load(const sched::ClusterShape& cluster) const {
    RUDDER_ASSIGN(sched::Trace trace, load_trace(trace_, cluster));
    if (trace.skipped > 0) {
      say(fmt::format("note: {} records have no GPUs, no start or no run time and are left out",
                      trace.skipped));
    }
    return trace;
  }

  TraceChoice trace_;
  PredictorChoice predictor_;
};

/// What a simulation starts from.
struct Prepared {
  sched::Cluster cluster;
  sched::Trace trace;
};

/// Base of the commands that also simulate a cluster.
class SimCommand : public TraceCommand {
 protected:
  [[nodiscard]] Result<Prepared> prepare() {
    settle_minipods(options(), sim_.cluster);
    RUDDER_ASSIGN(sched::Cluster cluster, sched::make_cluster(sim_.cluster));
    RUDDER_ASSIGN(sched::Trace trace, load(sim_.cluster));
    return Prepared{std::move(cluster), std::move(trace)};
  }

  SimChoice sim_;
};

/// Jobs that the cluster can never run are a mistake in the trace or in the options more often than not.
void warn_of_rejected(const sched::Cluster& cluster, const sched::Trace& trace,
                      const sched::SimResult& result) {
  constexpr std::size_t kNamed = 5;
  std::size_t rejected = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    if (result.jobs[i].rejected && ++rejected <= kNamed) {
      const sched::JobSpec& job = trace.jobs[i].spec;
      log_warning(fmt::format(
          "job '{}' can never run: {} nodes with {} GPUs each, on {} hosts or its tenant's share of them",
          job.name, job.nodes, job.gpus, cluster.hosts()));
    }
  }
  if (rejected > kNamed) {
    log_warning(fmt::format("{} jobs more can never run", rejected - kNamed));
  }
}

class SchedSim final : public SimCommand {
 public:
  SchedSim() {
    add_trace_options(options(), trace_);
    add_sim_options(options(), sim_);
    options().choice("policy", policy_, {"fifo", "easy", "reserve"}, "Who may start when");
    options().choice("predictor", predictor_.name, kPredictors, kPredictorHelp);
    add_predictor_options(options(), predictor_);
    options().path("out", out_, "Folder for gantt.html and metrics.json");
    add_json_option();
  }

  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const Prepared prepared, prepare());
    const auto& [cluster, trace] = prepared;
    RUDDER_ASSIGN(sched::SimOptions simulated, sim_options(sim_, cluster, trace));
    RUDDER_ASSIGN(simulated.planner.policy, sched::parse_policy(policy_));
    RUDDER_ASSIGN(simulated.estimates, predictions(predictor_, predictor_.name, trace));
    RUDDER_ASSIGN(const sched::SimResult result, sched::simulate(cluster, trace, simulated));
    warn_of_rejected(cluster, trace, result);
    const sched::SimMetrics metrics = sched::measure(cluster, trace, result);
    if (!out_.empty()) {
      RUDDER_TRY(write(cluster, trace, result, metrics));
    }
    if (json()) {
      Json object = metrics_json(metrics);
      object["starts"] = starts_json(cluster, trace, result);
      print_json(object);
    } else {
      say(metrics_text(metrics));
    }
    return 0;
  }

 private:
  Status write(const sched::Cluster& cluster, const sched::Trace& trace, const sched::SimResult& result,
               const sched::SimMetrics& metrics) const {
    RUDDER_TRY(make_directories(out_));
    const std::string title =
        fmt::format("{} on {} hosts, policy {}, predictor {}",
                    trace_.file.empty() ? trace_.format : trace_.file.filename().string(), cluster.hosts(),
                    policy_, predictor_.name);
    RUDDER_TRY(write_text(out_ / "gantt.html",
                          sched::gantt_page(cluster, trace, result, metrics, {.title = title})));
    return write_text(out_ / "metrics.json", metrics_json(metrics).dump(2) + "\n");
  }

  std::string policy_ = "reserve";
  std::filesystem::path out_;
};

class SchedCompare final : public SimCommand {
 public:
  SchedCompare() {
    add_trace_options(options(), trace_);
    add_sim_options(options(), sim_);
    add_predictor_options(options(), predictor_);
    add_json_option();
  }

  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const Prepared prepared, prepare());
    const auto& [cluster, trace] = prepared;
    RUDDER_ASSIGN(sched::SimOptions simulated, sim_options(sim_, cluster, trace));
    report::TextTable table({"policy", "predictor", "allocation", "retention", "delay h", "planned h",
                             "multi h", "one h", "slowdown", "preempted", "zones broken", "seconds"});
    Json rows = Json::array();
    for (const std::string predictor : {"none", "learned", "oracle"}) {
      RUDDER_ASSIGN(simulated.estimates, predictions(predictor_, predictor, trace));
      for (const sched::Policy policy :
           {sched::Policy::kFifo, sched::Policy::kEasy, sched::Policy::kReserve}) {
        if (policy == sched::Policy::kFifo && predictor != "none") {
          continue;  // FIFO asks nobody how long a job runs
        }
        simulated.planner.policy = policy;
        const auto begin = std::chrono::steady_clock::now();
        RUDDER_ASSIGN(const sched::SimResult result, sched::simulate(cluster, trace, simulated));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        add_row(table, rows, policy, predictor, sched::measure(cluster, trace, result), took.count());
      }
    }
    if (json()) {
      print_json({{"rows", std::move(rows)}});
    } else {
      say(table.text());
    }
    return 0;
  }

 private:
  static void add_row(report::TextTable& table, Json& rows, sched::Policy policy,
                      const std::string& predictor, const sched::SimMetrics& metrics, double seconds) {
    const auto delay = [&](std::size_t k) {
      const sched::Distribution& values = metrics.queue_delay_by_class[k].delay;
      return values.count == 0 ? std::string("-") : fmt::format("{:.2f}", values.mean / 3600);
    };
    table.add({std::string(sched::policy_name(policy)), predictor, fmt::format("{:.3f}", metrics.allocation),
               metrics.retention ? fmt::format("{:.3f}", *metrics.retention) : std::string("-"),
               fmt::format("{:.2f}", metrics.queue_delay.mean / 3600), delay(0), delay(2), delay(3),
               fmt::format("{:.1f}", metrics.slowdown.mean), std::to_string(metrics.preemptions),
               fmt::format("{}/{}", metrics.zone_violations, metrics.zone_admissions),
               fmt::format("{:.1f}", seconds)});
    Json row = {{"policy", sched::policy_name(policy)}, {"predictor", predictor}, {"seconds", seconds}};
    row.update(metrics_json(metrics));
    rows.push_back(std::move(row));
  }
};

class SchedTrain final : public TraceCommand {
 public:
  SchedTrain() {
    add_trace_options(options(), trace_);
    add_predictor_options(options(), predictor_);
    options().path("out", out_, "Model file to write; required");
    add_json_option();
  }
  Result<int> run(const Program&) override {
    if (out_.empty()) {
      return Error{Errc::kInvalidArgument, "--out FILE is required"};
    }
    RUDDER_ASSIGN(const sched::Trace trace, load({}));
    const std::size_t split = split_of(predictor_, trace);
    RUDDER_ASSIGN(const sched::JctModel model, sched::JctModel::train(trace, split, predictor_.options));
    RUDDER_TRY(model.save(out_));
    const sched::JctScores scores = model.score(trace, split, predictor_.quantile);
    if (json()) {
      print_json(scores_json(scores));
    } else {
      say(scores_text(scores));
    }
    return 0;
  }

 private:
  std::filesystem::path out_;
};

class SchedPredict final : public TraceCommand {
 public:
  SchedPredict() {
    add_trace_options(options(), trace_);
    add_predictor_options(options(), predictor_);
    add_json_option();
  }
  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const sched::Trace trace, load({}));
    RUDDER_ASSIGN(const std::vector<sched::Time> times, predictions(predictor_, "learned", trace));
    Json rows = Json::array();
    for (std::size_t i = split_of(predictor_, trace); i < trace.jobs.size(); ++i) {
      const sched::JobSpec& spec = trace.jobs[i].spec;
      if (json()) {
        rows.push_back({{"job", spec.name}, {"predicted", times[i]}, {"limit", spec.limit}});
      } else {
        say(fmt::format("{}\t{}\t{}", spec.name, times[i], spec.limit));
      }
    }
    if (json()) {
      print_json({{"quantile", predictor_.quantile}, {"jobs", std::move(rows)}});
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_sched_sim() {
  return std::make_unique<SchedSim>();
}
std::unique_ptr<Command> make_sched_compare() {
  return std::make_unique<SchedCompare>();
}
std::unique_ptr<Command> make_sched_train() {
  return std::make_unique<SchedTrain>();
}
std::unique_ptr<Command> make_sched_predict() {
  return std::make_unique<SchedPredict>();
}

}  // namespace rudder::cli

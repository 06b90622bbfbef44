// SPDX-License-Identifier: Apache-2.0
#include "cli/sched_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::cli {
namespace {

constexpr sched::Time kYear = 366 * 86400;

Result<std::vector<std::int64_t>> shares_of(const std::string& text, const sched::Trace& trace,
                                            std::int64_t gpus) {
  std::vector<double> shares(trace.tenants.size(), -1);
  double given = 0;
  std::size_t named = 0;
  for (const std::string& entry : split_list(text)) {
    const std::size_t equals = entry.rfind('=');
    const auto value = equals == std::string::npos ? std::nullopt : parse_double(entry.substr(equals + 1));
    if (!value || *value < 0 || *value > 1) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("--shares: '{}' is not TENANT=SHARE with a share in 0..1", printable(entry))};
    }
    const std::string name = entry.substr(0, equals);
    const auto found = std::find(trace.tenants.begin(), trace.tenants.end(), name);
    if (found == trace.tenants.end()) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("--shares: no tenant '{}' in the trace", printable(name))};
    }
    double& share = shares[static_cast<std::size_t>(found - trace.tenants.begin())];
    if (share >= 0) {
      return Error{Errc::kInvalidArgument, fmt::format("--shares: '{}' has two shares", printable(name))};
    }
    share = *value;
    given += *value;
    ++named;
  }
  if (given > 1 + 1e-9) {
    return Error{Errc::kInvalidArgument, fmt::format("--shares: they add up to {:.3f}", given)};
  }
  const double rest = (1 - given) / static_cast<double>(std::max<std::size_t>(1, shares.size() - named));
  std::vector<std::int64_t> quotas;
  for (const double share : shares) {
    quotas.push_back(std::llround((share < 0 ? rest : share) * static_cast<double>(gpus)));
  }
  return quotas;
}

sched::Time end_of(const sched::Trace& trace) {
  sched::Time last = 0;
  for (const sched::TraceJob& job : trace.jobs) {
    last = std::max(last, std::max(job.spec.submit, job.spec.arrival) + job.duration);
  }
  return last;
}

}  // namespace

void add_trace_options(OptionTable& table, TraceChoice& choice) {
  table.path("trace", choice.file, "Trace file; required unless the load is generated");
  std::vector<std::string> formats{"generated"};
  for (const std::string_view name : sched::trace_format_names()) {
    formats.emplace_back(name);
  }
  table.choice("format", choice.format, formats, "What wrote the trace");
  table.integer<std::int32_t>("jobs", choice.options.max_jobs, 0, 1 << 24,
                              "Only the first jobs by submission; 0 takes all (generated: 1000)");
  table.integer<std::uint64_t>("seed", choice.options.seed, 0, UINT64_MAX, "Of all that is drawn");
  table.real("limit-factor", choice.options.limit_factor, 1, 1000,
             "Limits that a trace lacks: run time x 1..this, rounded up to what people ask for");
  table.real("preemptible", choice.options.preemptible, 0, 1,
             "Share of jobs without priority that may be preempted");
  table.integer<std::int64_t>("checkpoint", choice.options.checkpoint, 0, kYear,
                              "Seconds between checkpoints of preemptible and multi-node jobs; 0: none");
  table.integer<std::int64_t>("restart", choice.options.restart, 0, kYear,
                              "Seconds lost by starting from a checkpoint");
  table.choice("tenants", choice.tenants, {"queue", "user"}, "Whom shares are of");
  table.real("load", choice.load.load, 0.01, 100, "generated: work asked for, as a share of the cluster");
  table.integer<std::int32_t>("planned", choice.planned.count, 0, 100'000,
                              "Planned jobs added at even distances over the trace");
  table.integer<std::int32_t>("planned-nodes", choice.planned.nodes, 1, 1 << 20, "Hosts of each planned job");
  table.integer<std::int32_t>("planned-columns", choice.planned.columns, 1, 1 << 20,
                              "Pipeline stages of each planned job");
  table.real("planned-alpha", choice.planned.alpha, 0, 1, "Weight of the data-parallel side of planned jobs");
  table.integer<std::int64_t>("planned-notice", choice.planned.notice, 0, kYear,
                              "Seconds between announcement and arrival");
  table.integer<std::int64_t>("planned-duration", choice.planned.duration, 1, kYear,
                              "Seconds that a planned job runs");
}

void add_sim_options(OptionTable& table, SimChoice& choice) {
  table.integer<std::int32_t>("nodes", choice.cluster.nodes, 1, 1 << 20, "Hosts of the simulated cluster");
  table.integer<std::int32_t>("gpus", choice.cluster.gpus, 1, 1024, "GPUs of each host");
  table.integer<std::int32_t>("minipods", choice.cluster.minipods, 1, 1 << 20,
                              "Minipods of the cluster; as many as hosts when those are fewer");
  table.choice("preemption", choice.preemption, {"on", "off"},
               "reserve: jobs of higher priority requeue preemptible ones");
  table.integer<std::int64_t>("age", choice.planner.age, 0, kYear,
                              "Seconds of waiting worth one step of priority; 0: no ageing");
  table.integer<std::int64_t>("grace", choice.planner.grace, 0, kYear,
                              "Seconds between a requeued job's signal and its end");
  table.integer<std::int64_t>("patience", choice.planner.patience, 1, kYear,
                              "Seconds after which a zone whose job could not start expires");
  table.integer<std::int32_t>("depth", choice.planner.depth, 0, 1 << 24,
                              "Delayed jobs looked at in one cycle; 0: all");
  table.choice("quota", choice.quota, {"none", "static", "dynamic"},
               "static: no tenant ever holds more than its share; dynamic: only while no other waits");
  table.text("shares", "TENANT=SHARE,...", choice.shares, "Shares of tenants; the rest is divided evenly");
  table.real("failure-hours", choice.failure_hours, 0, 1e9,
             "Mean hours until a host fails; 0: hosts never fail");
  table.real("repair-hours", choice.repair_hours, 0.001, 1e6, "Hours that a failed host is away");
}

void settle_minipods(const OptionTable& table, sched::ClusterShape& cluster) {
  if (table.origin("minipods") == "default") {
    cluster.minipods = std::min(cluster.minipods, cluster.nodes);
  }
}

void add_predictor_options(OptionTable& table, PredictorChoice& choice) {
  table.path("model", choice.model, "learned: model file (sched train); without it one is trained");
  table.real("quantile", choice.quantile, 0.01, 0.999, "Of the predicted run time");
  table.real("train-share", choice.train_share, 0.01, 0.99,
             "Share of the trace, by submission, that is learned from and not predicted");
  table.integer<std::int32_t>("bins", choice.options.bins, 2, 1000,
                              "Classes of ten minutes; the last is open");
  table.integer<std::int32_t>("bags", choice.options.bags, 1, 100,
                              "Forests whose probabilities are averaged");
  table.integer<std::int32_t>("rounds", choice.options.rounds, 1, 10'000, "Trees a class of each forest");
  table.integer<std::int32_t>("tree-depth", choice.options.depth, 1, 16, "Depth of trees");
}

Result<sched::Trace> load_trace(TraceChoice choice, const sched::ClusterShape& cluster) {
  choice.options.gpus_per_node = cluster.gpus;
  choice.options.tenant_is_user = choice.tenants == "user";
  const auto base = [&]() -> Result<sched::Trace> {
    if (choice.format == "generated") {
      choice.load.jobs = choice.options.max_jobs > 0 ? choice.options.max_jobs : choice.load.jobs;
      choice.load.cluster_gpus = std::int64_t{cluster.nodes} * cluster.gpus;
      return sched::generate_load(choice.load, choice.options);
    }
    if (choice.file.empty()) {
      return Error{Errc::kInvalidArgument, "--trace FILE is required (or --format generated)"};
    }
    RUDDER_ASSIGN(const sched::TraceFormat format, sched::parse_trace_format(choice.format));
    return sched::read_trace(choice.file, format, choice.options);
  };
  RUDDER_ASSIGN(sched::Trace trace, base());
  return sched::with_planned_jobs(std::move(trace), choice.planned, choice.options);
}

Result<sched::SimOptions> sim_options(const SimChoice& choice, const sched::Cluster& cluster,
                                      const sched::Trace& trace) {
  sched::SimOptions options;
  options.planner = choice.planner;
  options.planner.preemption = choice.preemption == "on";
  if (choice.quota != "none") {
    options.quotas.mode = choice.quota == "static" ? sched::QuotaMode::kStatic : sched::QuotaMode::kDynamic;
    RUDDER_ASSIGN(options.quotas.gpus, shares_of(choice.shares, trace, cluster.all_gpus()));
  } else if (!choice.shares.empty()) {
    return Error{Errc::kInvalidArgument, "--shares needs --quota static or dynamic"};
  }
  if (choice.failure_hours > 0) {
    // Twice the trace: queues may make a schedule longer than its submissions.
    options.outages =
        sched::draw_outages(cluster, end_of(trace) * 2, choice.failure_hours, choice.repair_hours, 1);
  }
  return options;
}

std::size_t split_of(const PredictorChoice& choice, const sched::Trace& trace) {
  return static_cast<std::size_t>(choice.train_share * static_cast<double>(trace.jobs.size()));
}

Result<sched::JctModel> model_of(const PredictorChoice& choice, const sched::Trace& trace) {
  if (!choice.model.empty()) {
    return sched::JctModel::load(choice.model);
  }
  return sched::JctModel::train(trace, split_of(choice, trace), choice.options);
}

Result<std::vector<sched::Time>> predictions(const PredictorChoice& choice, std::string_view name,
                                             const sched::Trace& trace) {
  std::vector<sched::Time> times;
  if (name == "oracle") {
    return times;
  }
  if (name == "learned") {
    RUDDER_ASSIGN(const sched::JctModel model, model_of(choice, trace));
    return model.quantiles(trace, split_of(choice, trace), choice.quantile);
  }
  for (const sched::TraceJob& job : trace.jobs) {
    const bool given = name == "given" && job.predicted > 0;
    times.push_back(given ? job.predicted : job.spec.limit);
  }
  return times;
}

}  // namespace rudder::cli

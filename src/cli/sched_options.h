// SPDX-License-Identifier: Apache-2.0
// Options and preparation that the sched commands share: trace, simulated cluster, planner, predictions.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sched/jct.h"
#include "rudder/sched/simulator.h"
#include "rudder/sched/trace.h"

#include "cli/option_table.h"

namespace rudder::cli {

/// The trace and what is drawn for it.
struct TraceChoice {
  std::filesystem::path file;
  std::string format = "philly";  ///< a format's name, or "generated"
  std::string tenants = "queue";
  sched::TraceOptions options;
  sched::LoadOptions load;
  sched::PlannedOptions planned;
};

/// The simulated cluster, the policy's settings, shares and failures.
struct SimChoice {
  sched::ClusterShape cluster;
  sched::PlannerOptions planner;
  std::string preemption = "on";
  std::string quota = "none";
  std::string shares;
  double failure_hours = 0;
  double repair_hours = 4;
};

/// Where predictions come from.
struct PredictorChoice {
  std::string name = "none";
  std::filesystem::path model;
  double quantile = 0.9;
  double train_share = 0.5;
  sched::JctOptions options;
};

void add_trace_options(OptionTable& table, TraceChoice& choice);
void add_sim_options(OptionTable& table, SimChoice& choice);
void add_predictor_options(OptionTable& table, PredictorChoice& choice);

/// Without --minipods a cluster of fewer hosts than the default has minipods has one for each host.
void settle_minipods(const OptionTable& table, sched::ClusterShape& cluster);

/// GPUs a node are those of the cluster; generated loads fill its GPUs.
[[nodiscard]] Result<sched::Trace> load_trace(TraceChoice choice, const sched::ClusterShape& cluster);
/// All but the policy and the predictions.
[[nodiscard]] Result<sched::SimOptions> sim_options(const SimChoice& choice, const sched::Cluster& cluster,
                                                    const sched::Trace& trace);
/// Estimates of each job for the planner (empty for the oracle) by "none", "oracle", "given" or "learned".
[[nodiscard]] Result<std::vector<sched::Time>> predictions(const PredictorChoice& choice,
                                                           std::string_view name, const sched::Trace& trace);
/// First job behind the training share of the trace.
[[nodiscard]] std::size_t split_of(const PredictorChoice& choice, const sched::Trace& trace);
[[nodiscard]] Result<sched::JctModel> model_of(const PredictorChoice& choice, const sched::Trace& trace);

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
// Option tables shared by the commands that run or plan batches.
#pragma once

#include "rudder/cache/policy.h"
#include "rudder/graph/generators.h"
#include "rudder/graph/partition.h"
#include "rudder/launch/rank_env.h"
#include "rudder/train/options.h"

#include "cli/option_table.h"

namespace rudder::cli {

/// Batch shape and seed: what decides which rows are asked for.
void add_schedule_options(OptionTable& table, train::TrainOptions& options);
/// Settings of policies.
void add_policy_settings(OptionTable& table, cache::PolicySettings& settings);
/// Model and optimizer.
void add_model_options(OptionTable& table, train::TrainOptions& options);
/// Threads, depth and deadlines.
void add_pipeline_options(OptionTable& table, train::TrainOptions& options);
void add_generator_options(OptionTable& table, graph::GeneratorOptions& options);
void add_partition_options(OptionTable& table, graph::PartitionOptions& options);
/// Who steers the buffer.
void add_steering_options(OptionTable& table, train::SteeringOptions& options);
/// --link RATE as bits per second.
void add_link_option(OptionTable& table, std::string& text, double& bits_per_second, std::string help);
/// --buffer SIZE, checked.
void add_buffer_option(OptionTable& table, std::string& text,
                       std::string help = "Rows of each rank's buffer: a fraction of the halo or a number");
/// This machine's name, for messages.
[[nodiscard]] std::string host_name();
/// Who this process is by its environment; with others, and unless all are threads of this process, with the
/// run's secret.
[[nodiscard]] Result<train::RankInfo> rank_info(const launch::RankEnvironment& environment,
                                                const std::string& host, bool threads = false);
/// Names of policies for help and errors: all, or those that run live.
[[nodiscard]] std::vector<std::string> policy_names(bool live_only);

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "rudder/cache/buffer_size.h"
#include "rudder/core/text.h"
#include "rudder/launch/run_secret.h"

namespace rudder::cli {

void add_schedule_options(OptionTable& table, train::TrainOptions& options) {
  table.integers("fanout", options.fanout, -1, 1 << 20,
                 "Neighbours sampled a node, hops from the seeds outwards (DGL writes the last hop first); "
                 "-1 takes all");
  table.integer<std::size_t>("batch", options.batch, 1, std::size_t{1} << 24,
                             "Seed nodes a step of each rank");
  table.integer<std::uint32_t>("epochs", options.epochs, 1, 1'000'000, "Passes over the training nodes");
  table.integer<std::uint64_t>("seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max(),
                               "Of batches, sampling, weights and dropout");
}

void add_policy_settings(OptionTable& table, cache::PolicySettings& settings) {
  table.integer<std::uint32_t>("look-ahead", settings.max_lookahead, 1, 1'000'000,
                               "Policy lookahead: most batches to look ahead");
  table.integer<std::uint32_t>("score-period", settings.score_period, 1, 1'000'000,
                               "Policy score: batches between replacements");
  table.integer<std::uint32_t>("score-stale-after", settings.score_stale_after, 1, 1'000'000,
                               "Policy score: batches without a hit until a slot is stale");
  table.real("score-alpha", settings.score_alpha, 1e-6, 0.999, "Policy score: decay a batch");
  table.choice("score-init", settings.score_init, {"degree", "random", "empty"},
               "Policy score: first contents");
}

void add_model_options(OptionTable& table, train::TrainOptions& options) {
  table.choice("model", options.model, {"sage", "gcn", "gat"}, "Graph neural network");
  table.integer<std::size_t>("hidden", options.hidden, 1, 65536, "Width of hidden layers");
  table.integer<std::size_t>("heads", options.heads, 1, 1024, "Attention heads of hidden layers (gat)");
  table.real("learning-rate", options.learning_rate, 1e-9, 10, "Of Adam; the highest of the run");
  table.choice("schedule", options.schedule, {"constant", "cosine", "linear"},
               "Of the learning rate: cosine and linear fall to 0 over the run");
  table.integer<std::uint64_t>("warmup-steps", options.warmup_steps, 0, std::uint64_t{1} << 40,
                               "Steps in which the learning rate grows from 0");
  table.real("weight-decay", options.weight_decay, 0, 1, "Decoupled from the gradient (AdamW)");
  table.real("clip-norm", options.clip_norm, 0, 1e9, "Largest norm of the gradient; 0 sets no limit");
  table.real("dropout", options.dropout, 0, 0.99, "Share of hidden values dropped in training");
}

void add_pipeline_options(OptionTable& table, train::TrainOptions& options) {
  table.integer<std::size_t>("threads", options.threads, 1, 1024,
                             "Sampling and kernel threads; never changes a result");
  table.integer<std::uint32_t>("depth", options.depth, 0, 1024,
                               "Batches fetched ahead of the one in training; 0 overlaps nothing");
  table.real("deadline", options.deadline_seconds, 0.1, 86400, "Seconds that any wait for a peer may last");
}

void add_generator_options(OptionTable& table, graph::GeneratorOptions& options) {
  table.integer<std::uint64_t>("seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max(),
                               "Of everything random");
  table.integer<std::size_t>("features", options.features, 1, 65536, "Columns of the feature matrix");
  table.integer<int>("scale", options.scale, 1, 30, "rmat: 2^N nodes");
  table.real("edge-factor", options.edge_factor, 0.1, 10000,
             "rmat, chung-lu, planted: undirected edges drawn a node, before dropping");
  table.integer<NodeId>("nodes", options.nodes, 2, NodeId{1} << 32, "chung-lu, planted: nodes");
  table.integer<std::int64_t>("classes", options.classes, 2, 65536, "rmat, chung-lu, planted: classes");
  table.real("exponent", options.exponent, 2.01, 10, "chung-lu: of the degree distribution");
  table.real("mixing", options.mixing, 0, 1, "planted: share of edges that leave the community");
  table.toggle("multi-label", options.multi_label, "planted: a node has several of the classes");
  table.real("train-share", options.train_share, 0.0001, 0.98,
             "rmat, chung-lu, planted: share of training nodes");
}

void add_partition_options(OptionTable& table, graph::PartitionOptions& options) {
  table.integer<PartId>("parts", options.parts, 1, 65536, "Parts, one a rank");
  Option method;
  method.key = "method";
  method.metavar = "NAME";
  method.help = "How nodes are assigned";
  method.bounds = "metis, ldg, fennel, hash, random";
  method.parse = [&options](const std::string& text) -> Status {
    const auto found = graph::partition_method_from_name(text);
    if (!found) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("'{}' is not one of metis, ldg, fennel, hash, random", text)};
    }
    options.method = *found;
    return {};
  };
  method.show = [&options] { return std::string(graph::name_of(options.method)); };
  table.custom(std::move(method));
  table.real("imbalance", options.imbalance, 0, 10,
             "ldg, fennel: allowed excess over the mean part; metis aims at it, for nodes, edges and "
             "training nodes");
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

Result<train::RankInfo> rank_info(const launch::RankEnvironment& environment, const std::string& host,
                                  bool threads) {
  train::RankInfo who{.rank = environment.rank,
                      .world = environment.world,
                      .master_address = environment.master_address,
                      .master_port = environment.master_port,
                      .host = host};
  if (!threads && who.world > 1) {
    RUDDER_ASSIGN(who.secret, launch::run_secret_from_environment());
  }
  return who;
}

void add_link_option(OptionTable& table, std::string& text, double& bits_per_second, std::string help) {
  table.custom({.key = "link",
                .metavar = "RATE",
                .help = std::move(help),
                .bounds = "for example 200Mbit, 1Gbit, none",
                .parse = [&text, &bits_per_second](const std::string& value) -> Status {
                  const auto rate = parse_bit_rate(value);
                  if (!rate) {
                    return rate.error();
                  }
                  text = value;
                  bits_per_second = *rate;
                  return {};
                },
                .show = [&text] { return text; },
                .is_switch = false});
}

void add_buffer_option(OptionTable& table, std::string& text, std::string help) {
  table.custom({.key = "buffer",
                .metavar = "SIZE",
                .help = std::move(help),
                .bounds = "0.0..1.0 with a point, or a whole number",
                .parse = [&text](const std::string& value) -> Status {
                  RUDDER_TRY(cache::parse_buffer_size(value));
                  text = value;
                  return {};
                },
                .show = [&text] { return text; },
                .is_switch = false});
}

std::vector<std::string> policy_names(bool live_only) {
  std::vector<std::string> names;
  for (const cache::PolicyInfo& info : cache::policy_table()) {
    if (info.live || !live_only) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

}  // namespace rudder::cli

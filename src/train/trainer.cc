// SPDX-License-Identifier: Apache-2.0
#include "rudder/train/trainer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <sys/resource.h>

#include "rudder/core/machine.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

#include "train/meet.h"
#include "train/rank_run.h"
#include "train/torch_error.h"

namespace rudder::train {
namespace {

/// LibTorch and UCX end the process when descriptors run out in the middle of a run.
Status ensure_descriptors(Rank world) {
  const rlim_t wanted = 40 + rlim_t{8} * world;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) {
    return {};
  }
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (limit.rlim_cur < wanted || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Error{Errc::kResource, fmt::format("at most {} files may be open; {} ranks need {} (ulimit -n)",
                                              limit.rlim_max, world, wanted)};
  }
  return {};
}

Result<graph::PartitionedGraph> open_graph(const TrainOptions& options, Rank rank) {
  return options.topology == "owner" ? graph::PartitionedGraph::open_own(options.partition, rank)
                                     : graph::PartitionedGraph::open(options.partition);
}

/// One of the ranks that are threads. Without the whole structure it opens its own part's.
Result<TrainResult> train_in_thread(const RankSetting& shared,
                                    std::unique_ptr<transport::Transport> transport) {
  if (shared.graph.has_topology() || shared.who.rank == 0) {
    return run_rank(shared, std::move(transport));
  }
  RUDDER_ASSIGN(const graph::PartitionedGraph own, open_graph(shared.options, shared.who.rank));
  const RankSetting setting{shared.options, shared.who, own, shared.listener, shared.stop, shared.rendezvous};
  return run_rank(setting, std::move(transport));
}

/// All ranks as threads. `graph` is rank 0's. The first error is the run's: the others follow from it.
Result<TrainResult> train_in_threads(const TrainOptions& options, const RankInfo& who,
                                     const graph::PartitionedGraph& graph, const EpochListener& listener,
                                     const std::atomic<bool>* stop) {
  transport::LocalRendezvous rendezvous;
  auto transports = transport::make_loopback_transports(who.world);
  std::optional<TrainResult> result;
  {
    std::vector<std::jthread> ranks;
    for (Rank rank = 0; rank < who.world; ++rank) {
      ranks.emplace_back([&, rank] {
        name_this_thread(fmt::format("rudder-rank{}", rank));
        RankInfo self{.rank = rank, .world = who.world, .host = who.host, .secret = who.secret};
        const RankSetting setting{options, std::move(self), graph, listener, stop, rendezvous};
        auto outcome =
            train_in_thread(setting, behind_link(std::move(transports[rank]), options.link_bits_per_second));
        if (!outcome.ok()) {
          rendezvous.fail(outcome.error());
        } else if (rank == 0) {
          result = std::move(outcome).value();
        }
      });
    }
  }
  if (const auto failure = rendezvous.failure()) {
    return *failure;
  }
  return *std::move(result);
}

Result<TrainResult> train_one_rank(const TrainOptions& options, const RankInfo& who,
                                   const graph::PartitionedGraph& graph, const EpochListener& listener,
                                   const std::atomic<bool>* stop) {
  if (who.world == 1) {
    return train_in_threads(options, who, graph, listener, stop);
  }
  RUDDER_ASSIGN(Meeting met, meet(who, options.link_bits_per_second, from_seconds(options.deadline_seconds)));
  const RankSetting setting{options, who, graph, listener, stop, *met.rendezvous};
  return run_rank(setting, std::move(met.transport));
}

}  // namespace

Result<TrainResult> train(const TrainOptions& options, const RankInfo& who, const EpochListener& listener,
                          const std::atomic<bool>* stop) {
  quiet_torch_logs();
  RUDDER_TRY(ensure_descriptors(who.world));
  if (options.transport != "ucx" && options.transport != "loopback") {
    return Error{Errc::kInvalidArgument,
                 fmt::format("unknown transport '{}'; there are ucx and loopback", options.transport)};
  }
  if (options.topology != "replicated" && options.topology != "owner") {
    return Error{Errc::kInvalidArgument,
                 fmt::format("unknown topology '{}'; there are replicated and owner", options.topology)};
  }
  if (who.world == 0 || who.rank >= who.world) {
    return Error{Errc::kInvalidArgument, fmt::format("rank {} of {} ranks", who.rank, who.world)};
  }
  RUDDER_ASSIGN(const graph::PartitionedGraph graph, open_graph(options, who.rank));
  RUDDER_TRY(check_options(options, who.world, graph));
  if (options.transport == "loopback") {
    if (who.rank != 0) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("transport loopback plays all {} ranks in one process; this one is rank {}",
                               who.world, who.rank)};
    }
    return train_in_threads(options, who, graph, listener, stop);
  }
  return train_one_rank(options, who, graph, listener, stop);
}

}  // namespace rudder::train

// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/cluster.h"

#include <numeric>

#include <fmt/format.h>

namespace rudder::sched {
namespace {

std::string minipod_name(std::int32_t k, std::int32_t count) {
  if (count <= 26) {
    return std::string(1, static_cast<char>('a' + k));
  }
  return fmt::format("m{:02}", k + 1);
}

std::string host_name(const std::string& minipod, std::int32_t count, std::int32_t i) {
  return fmt::format("{}{}{:02}", minipod, count <= 26 ? "" : "n", i + 1);
}

}  // namespace

std::int64_t Cluster::all_gpus() const noexcept {
  return std::accumulate(gpus.begin(), gpus.end(), std::int64_t{0});
}

Result<Cluster> make_cluster(const ClusterShape& shape) {
  if (shape.nodes < 1 || shape.gpus < 1 || shape.minipods < 1 || shape.nodes > (1 << 20) ||
      shape.gpus > 1024 || shape.minipods > shape.nodes) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("cluster of {} nodes with {} GPUs in {} minipods: 1 to 1048576 nodes, 1 to 1024 "
                             "GPUs, at most as many minipods as nodes",
                             shape.nodes, shape.gpus, shape.minipods)};
  }
  Cluster cluster;
  for (std::int32_t k = 0; k < shape.minipods; ++k) {
    const std::string name = minipod_name(k, shape.minipods);
    const std::int32_t size = shape.nodes / shape.minipods + (k < shape.nodes % shape.minipods ? 1 : 0);
    cluster.minipod_names.push_back(name);
    cluster.members.emplace_back();
    for (std::int32_t i = 0; i < size; ++i) {
      cluster.members.back().push_back(static_cast<HostId>(cluster.names.size()));
      cluster.names.push_back(host_name(name, shape.minipods, i));
      cluster.gpus.push_back(shape.gpus);
      cluster.minipod.push_back(k);
    }
  }
  return cluster;
}

Cluster cluster_of(const place::Topology& topology, std::int32_t level, std::int32_t gpus) {
  Cluster cluster;
  for (const place::Host& host : topology.hosts) {
    cluster.names.push_back(host.name);
  }
  cluster.gpus.assign(cluster.names.size(), gpus);
  cluster.minipod.assign(cluster.names.size(), 0);
  for (place::Minipod& minipod : place::minipods(topology, level)) {
    for (const HostId host : minipod.hosts) {
      cluster.minipod[static_cast<std::size_t>(host)] = static_cast<MinipodId>(cluster.members.size());
    }
    cluster.minipod_names.push_back(std::move(minipod.name));
    cluster.members.push_back(std::move(minipod.hosts));
  }
  return cluster;
}

}  // namespace rudder::sched

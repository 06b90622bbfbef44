// SPDX-License-Identifier: Apache-2.0
// The hosts that a scheduler fills: names, GPUs, and which minipod each belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/topology.h"

namespace rudder::sched {

using place::HostId;
using place::MinipodId;

struct Cluster {
  std::vector<std::string> names;
  std::vector<std::int32_t> gpus;  ///< of each host
  std::vector<MinipodId> minipod;  ///< of each host
  std::vector<std::string> minipod_names;
  std::vector<std::vector<HostId>> members;  ///< of each minipod, ascending

  [[nodiscard]] std::size_t hosts() const noexcept { return names.size(); }
  [[nodiscard]] std::size_t minipods() const noexcept { return members.size(); }
  [[nodiscard]] std::int64_t all_gpus() const noexcept;
};

struct ClusterShape {
  std::int32_t nodes = 96;
  std::int32_t gpus = 8;      ///< of each node
  std::int32_t minipods = 8;  ///< sizes differ by at most one, larger ones first
};

/// Hosts "a01", "a02", ... of minipods "a", "b", ...; with more than 26 minipods "m01n01", ... . Errors:
/// kInvalidArgument when a number is not positive, there are fewer nodes than minipods, or more than 2^20
/// nodes.
[[nodiscard]] Result<Cluster> make_cluster(const ClusterShape& shape);

/// Minipods at `level` of a topology (place/topology.h). Hosts keep their ids.
[[nodiscard]] Cluster cluster_of(const place::Topology& topology, std::int32_t level, std::int32_t gpus);

}  // namespace rudder::sched

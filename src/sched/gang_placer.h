// SPDX-License-Identifier: Apache-2.0
// Picks hosts for a gang out of candidates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "rudder/sched/cluster.h"
#include "rudder/sched/job.h"

namespace rudder::sched {

struct Candidate {
  HostId host = 0;
  double cost = 0;  ///< hosts of low cost go first inside a minipod
};

struct Allocation {
  std::vector<HostId> hosts;  ///< row-major cells of the job's grid
  double objective = 0;
  double bound = 0;
};

/// Between minipods of equal worth: gangs that start now fill the cluster from its first minipod, zones of
/// planned jobs lie at its other end, where they are in the way of fewest.
enum class Side : std::uint8_t { kFirst, kLast };

class GangPlacer {
 public:
  /// Nothing when there are fewer candidates than nodes. A job without a grid gets as few minipods as
  /// possible, the last one as tight as possible; J is their number. Result and time do not depend on the
  /// order of the candidates; solved grids are kept by capacities.
  [[nodiscard]] std::optional<Allocation> place(const Cluster& cluster, const JobSpec& job,
                                                std::span<const Candidate> candidates, Side side);

 private:
  struct Room {
    MinipodId minipod = 0;
    std::vector<Candidate> hosts;  ///< cheapest first
    double cost = 0;               ///< of as many hosts as the job could use
    [[nodiscard]] std::int32_t size() const noexcept { return static_cast<std::int32_t>(hosts.size()); }
  };
  struct Solved {
    place::Cells cells;  ///< positions in the capacities, largest first
    double objective = 0;
    double bound = 0;
  };
  struct Key {
    std::vector<std::int32_t> capacities;
    std::int32_t rows = 0;
    std::int32_t columns = 0;
    double alpha = 0;
    [[nodiscard]] auto operator<=>(const Key&) const = default;
  };

  [[nodiscard]] std::vector<Room> rooms(const Cluster& cluster, const JobSpec& job,
                                        std::span<const Candidate> candidates, Side side) const;
  [[nodiscard]] static Allocation pack(const JobSpec& job, std::vector<Room> rooms);
  [[nodiscard]] std::optional<Allocation> solve(const JobSpec& job, std::vector<Room> rooms);
  /// Minipods of equal capacity are interchangeable: of each such group the first take the cells of those
  /// that are used most. The value is the room of each position.
  [[nodiscard]] static std::vector<std::size_t> preferred(std::span<const std::int32_t> capacities,
                                                          std::span<const MinipodId> cells);
  [[nodiscard]] const Solved* solved(Key key);

  std::map<Key, std::optional<Solved>> memo_;
};

}  // namespace rudder::sched

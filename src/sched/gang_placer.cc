// SPDX-License-Identifier: Apache-2.0
#include "sched/gang_placer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "rudder/core/check.h"

namespace rudder::sched {
namespace {

constexpr std::size_t kMemoEntries = 4096;
/// No search under a clock: a plan must be the same on a slow machine.
constexpr place::SolveLimits kLimits{.seconds = 0, .exact_cells = 0};

}  // namespace

std::vector<GangPlacer::Room> GangPlacer::rooms(const Cluster& cluster, const JobSpec& job,
                                                std::span<const Candidate> candidates, Side side) const {
  const int sign = side == Side::kFirst ? 1 : -1;
  std::vector<Room> all(cluster.minipods());
  for (const Candidate& candidate : candidates) {
    all[static_cast<std::size_t>(cluster.minipod[static_cast<std::size_t>(candidate.host)])].hosts.push_back(
        candidate);
  }
  std::vector<Room> used;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].hosts.empty()) {
      continue;
    }
    Room room = std::move(all[k]);
    room.minipod = static_cast<MinipodId>(k);
    std::sort(room.hosts.begin(), room.hosts.end(), [&](const Candidate& a, const Candidate& b) {
      return std::pair(a.cost, sign * a.host) < std::pair(b.cost, sign * b.host);
    });
    const auto count = std::min(static_cast<std::size_t>(job.nodes), room.hosts.size());
    for (std::size_t i = 0; i < count; ++i) {
      room.cost += room.hosts[i].cost;
    }
    used.push_back(std::move(room));
  }
  std::sort(used.begin(), used.end(), [&](const Room& a, const Room& b) {
    return std::tuple(-a.size(), a.cost, sign * a.minipod) < std::tuple(-b.size(), b.cost, sign * b.minipod);
  });
  return used;
}

Allocation GangPlacer::pack(const JobSpec& job, std::vector<Room> rooms) {
  Allocation allocation;
  std::int32_t left = job.nodes;
  const auto take = [&](const Room& room) {
    const std::int32_t count = std::min(left, room.size());
    for (std::int32_t i = 0; i < count; ++i) {
      allocation.hosts.push_back(room.hosts[static_cast<std::size_t>(i)].host);
    }
    left -= count;
    allocation.objective += 1;
  };
  std::size_t next = 0;
  while (left > rooms[next].size()) {
    take(rooms[next++]);
  }
  // Rooms are sorted by size: the tightest that finishes is in the last run of sizes that are large enough.
  std::size_t last = next;
  while (last + 1 < rooms.size() && rooms[last + 1].size() >= left) {
    ++last;
  }
  while (last > next && rooms[last - 1].size() == rooms[last].size()) {
    --last;
  }
  take(rooms[last]);
  allocation.bound = allocation.objective;
  return allocation;
}

const GangPlacer::Solved* GangPlacer::solved(Key key) {
  if (const auto found = memo_.find(key); found != memo_.end()) {
    return found->second ? &*found->second : nullptr;
  }
  if (memo_.size() >= kMemoEntries) {
    memo_.clear();
  }
  const place::Grid grid{.rows = key.rows, .columns = key.columns};
  std::optional<Solved> entry;
  if (const auto frontier = place::solve_frontier(key.capacities, grid, kLimits)) {
    const place::Spread spread = frontier->best(key.alpha).spread;
    if (auto cells = place::realise(key.capacities, grid, spread, key.alpha, kLimits)) {
      entry = Solved{.cells = std::move(cells).value(),
                     .objective = key.alpha * spread.Q + (1 - key.alpha) * spread.S,
                     .bound = frontier->lower_bound(key.alpha)};
    }
  }
  const auto placed = memo_.emplace(std::move(key), std::move(entry)).first;
  return placed->second ? &*placed->second : nullptr;
}

std::vector<std::size_t> GangPlacer::preferred(std::span<const std::int32_t> capacities,
                                               std::span<const MinipodId> cells) {
  std::vector<std::size_t> uses(capacities.size(), 0);
  for (const MinipodId position : cells) {
    ++uses[static_cast<std::size_t>(position)];
  }
  std::vector<std::size_t> by_use(capacities.size());
  std::iota(by_use.begin(), by_use.end(), std::size_t{0});
  std::stable_sort(by_use.begin(), by_use.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(capacities[b], uses[b]) < std::pair(capacities[a], uses[a]);
  });
  std::vector<std::size_t> room_of(capacities.size());
  for (std::size_t i = 0; i < by_use.size(); ++i) {
    room_of[by_use[i]] = i;
  }
  return room_of;
}

std::optional<Allocation> GangPlacer::solve(const JobSpec& job, std::vector<Room> rooms) {
  // A minipod larger than the job is as good as one of its size: fewer distinct problems to solve. Among
  // those the smallest go first, which leaves the largest untouched.
  const auto usable = [&](const Room& room) { return std::min(room.size(), job.nodes); };
  std::stable_sort(rooms.begin(), rooms.end(), [&](const Room& a, const Room& b) {
    return std::pair(-usable(a), a.size()) < std::pair(-usable(b), b.size());
  });
  Key key{.capacities = {}, .rows = job.grid.rows, .columns = job.grid.columns, .alpha = job.alpha};
  for (const Room& room : rooms) {
    key.capacities.push_back(usable(room));
  }
  const std::vector<std::int32_t> capacities = key.capacities;
  const Solved* solution = solved(std::move(key));
  if (solution == nullptr) {
    return std::nullopt;
  }
  const std::vector<std::size_t> room_of = preferred(capacities, solution->cells);
  std::vector<std::size_t> taken(rooms.size(), 0);
  Allocation allocation{.hosts = {}, .objective = solution->objective, .bound = solution->bound};
  for (const MinipodId position : solution->cells) {
    const std::size_t at = room_of[static_cast<std::size_t>(position)];
    RUDDER_CHECK(taken[at] < rooms[at].hosts.size(), "placements respect capacities");
    allocation.hosts.push_back(rooms[at].hosts[taken[at]++].host);
  }
  return allocation;
}

std::optional<Allocation> GangPlacer::place(const Cluster& cluster, const JobSpec& job,
                                            std::span<const Candidate> candidates, Side side) {
  if (candidates.size() < static_cast<std::size_t>(job.nodes)) {
    return std::nullopt;
  }
  std::vector<Room> sorted = rooms(cluster, job, candidates, side);
  if (job.grid.cells() == 0) {
    return pack(job, std::move(sorted));
  }
  return solve(job, std::move(sorted));
}

}  // namespace rudder::sched

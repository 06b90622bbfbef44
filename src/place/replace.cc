// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/core.h>

#include "rudder/place/job.h"

#include "place/instance.h"

namespace rudder::place {
namespace {

class Replacer {
 public:
  Replacer(const Topology& topology, const ReplaceOptions& options, Plan plan)
      : topology_(topology), plan_(std::move(plan)) {
    const std::int32_t level =
        options.minipod_level < 0 ? default_minipod_level(topology) : options.minipod_level;
    minipods_ = minipods(topology, level);
    minipod_of_.assign(topology.hosts.size(), -1);
    for (std::size_t k = 0; k < minipods_.size(); ++k) {
      for (const HostId host : minipods_[k].hosts) {
        minipod_of_[static_cast<std::size_t>(host)] = static_cast<MinipodId>(k);
      }
    }
    for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
      id_of_.emplace(topology.hosts[h].name, static_cast<HostId>(h));
    }
    spares_.insert(options.spares.begin(), options.spares.end());
    barred_.insert(options.excluded.begin(), options.excluded.end());
  }

  Status start(std::span<const std::string> failed) {
    RUDDER_ASSIGN(grid_, grid_of(plan_.shape));
    RUDDER_TRY(validate(plan_));
    cells_.resize(cell_count(grid_));
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlannedNode& node = plan_.nodes[i];
      const auto known = id_of_.find(node.host);
      if (known == id_of_.end()) {
        return Error{Errc::kNotFound,
                     fmt::format("host '{}' (rank {}) is not in the topology", node.host, node.rank0)};
      }
      planned_.emplace(node.host, i);
      cells_[cell_at(grid_, node.row, node.stage)] = minipod_of_[static_cast<std::size_t>(known->second)];
    }
    for (const std::string& host : failed) {
      if (planned_.count(host) == 0) {
        ignored_.push_back(host);
      }
      barred_.insert(host);
    }
    if (!failed.empty() && ignored_.size() == failed.size()) {
      return Error{Errc::kNotFound, failed.size() == 1
                                        ? fmt::format("failed host {} is not in the plan", failed.front())
                                        : fmt::format("none of {} failed hosts is in the plan, first {}",
                                                      failed.size(), failed.front())};
    }
    for (const auto& [host, node] : planned_) {
      barred_.insert(host);
    }
    J_ = cost();
    return {};
  }

  Result<Replaced> replace(const std::string& failed) {
    PlannedNode& node = plan_.nodes[planned_.at(failed)];
    const std::size_t cell = cell_at(grid_, node.row, node.stage);
    const Host& old = topology_.hosts[static_cast<std::size_t>(id_of_.at(failed))];
    const MinipodId from = cells_[cell];
    std::map<MinipodId, Price> prices;
    const Host* best = nullptr;
    Rank least;
    for (std::size_t h = 0; h < topology_.hosts.size(); ++h) {
      const Host& host = topology_.hosts[h];
      const bool spare = spares_.count(host.name) > 0;
      const bool usable = host.state == HostState::kFree || (spare && host.state == HostState::kBusy);
      if (!usable || barred_.count(host.name) > 0) {
        continue;
      }
      const MinipodId to = minipod_of_[h];
      const auto [price, fresh] = prices.try_emplace(to);
      if (fresh) {
        price->second = price_of(cell, node, to);
      }
      const Rank rank{to == from ? 0 : 1, price->second, spare ? 0 : 1, host.leaf == old.leaf ? 0 : 1, h};
      if (best == nullptr || rank < least) {
        best = &host;
        least = rank;
      }
    }
    if (best == nullptr) {
      return Error{Errc::kResource,
                   fmt::format("no usable host is left for failed host {} (row {}, stage {})", failed,
                               node.row, node.stage)};
    }
    const auto to = static_cast<std::size_t>(minipod_of_[std::get<4>(least)]);
    cells_[cell] = static_cast<MinipodId>(to);
    barred_.insert(best->name);
    const double before = J_;
    J_ = cost();
    node.host = best->name;
    node.minipod = minipods_[to].name;
    node.leaf = best->leaf == kNoSwitch ? "" : topology_.switches[static_cast<std::size_t>(best->leaf)].name;
    return Replaced{node.row, node.stage, failed, node.host, node.minipod, J_ - before};
  }

  std::vector<std::string> take_ignored() { return std::move(ignored_); }
  Plan finish() {
    plan_.spread = spread_of(grid_, cells_);
    plan_.J = J_;
    return std::move(plan_);
  }

 private:
  using Price = std::tuple<double, int, int>;  ///< J, not in the row, not in the column
  using Rank = std::tuple<int, Price, int, int, std::size_t>;

  [[nodiscard]] double cost() const {
    return objective(spread_of(grid_, cells_), plan_.alpha, Metric::kCount);
  }

  Price price_of(std::size_t cell, const PlannedNode& node, MinipodId to) {
    int in_row = 0;
    int in_column = 0;
    const MinipodId from = cells_[cell];
    for (std::int32_t c = 0; c < grid_.columns; ++c) {
      in_row += c != node.stage && cells_[cell_at(grid_, node.row, c)] == to ? 1 : 0;
    }
    for (std::int32_t r = 0; r < grid_.rows; ++r) {
      in_column += r != node.row && cells_[cell_at(grid_, r, node.stage)] == to ? 1 : 0;
    }
    cells_[cell] = to;
    const double J = cost();
    cells_[cell] = from;
    return {J, in_row > 0 ? 0 : 1, in_column > 0 ? 0 : 1};
  }

  const Topology& topology_;
  Plan plan_;
  Grid grid_;
  Cells cells_;
  std::vector<Minipod> minipods_;
  std::vector<MinipodId> minipod_of_;
  std::unordered_map<std::string, HostId> id_of_;
  std::unordered_map<std::string, std::size_t> planned_;
  std::set<std::string> spares_;
  std::set<std::string> barred_;
  std::vector<std::string> ignored_;
  double J_ = 0;
};

}  // namespace

Result<Replacement> replace_hosts(const Topology& topology, const Plan& plan,
                                  std::span<const std::string> failed, const ReplaceOptions& options) {
  Replacer replacer(topology, options, plan);
  RUDDER_TRY(replacer.start(failed));
  const std::set<std::string> wanted(failed.begin(), failed.end());
  Replacement result;
  for (const PlannedNode& node : plan.nodes) {
    if (wanted.count(node.host) > 0) {
      RUDDER_ASSIGN(Replaced moved, replacer.replace(node.host));
      result.hosts.push_back(std::move(moved));
    }
  }
  result.ignored = replacer.take_ignored();
  result.plan = replacer.finish();
  return result;
}

}  // namespace rudder::place

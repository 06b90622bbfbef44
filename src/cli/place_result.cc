// SPDX-License-Identifier: Apache-2.0
#include "cli/place_result.h"

#include <map>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/place/hostlist.h"
#include "rudder/report/table.h"

namespace rudder::cli {
namespace {

std::string minipod_table(const place::Plan& plan) {
  const auto by_name = [](const std::string& a, const std::string& b) { return place::natural_less(a, b); };
  std::map<std::string, std::vector<std::string>, decltype(by_name)> hosts(by_name);
  for (const place::PlannedNode& node : plan.nodes) {
    hosts[node.minipod].push_back(node.host);
  }
  report::TextTable table({"minipod", "nodes", "hosts"});
  for (auto& [name, names] : hosts) {
    std::sort(names.begin(), names.end(), place::natural_less);
    constexpr std::size_t kShown = 80;
    std::string list = place::compress_hostlist(names);
    table.add(
        {name, std::to_string(names.size()), list.size() > kShown ? list.substr(0, kShown) + "..." : list});
  }
  return table.text();
}

}  // namespace

Json nodes_json(const place::Plan& plan, MinipodIds ids) {
  Json nodes = Json::array();
  for (const place::PlannedNode& node : plan.nodes) {
    const auto number = ids == MinipodIds::kNumbers ? parse_int(node.minipod.substr(1)) : std::nullopt;
    nodes.push_back({{"rank0", node.rank0},
                     {"row", node.row},
                     {"stage", node.stage},
                     {"host", node.host},
                     {"minipod", number ? Json(*number) : Json(node.minipod)},
                     {"leaf", node.leaf}});
  }
  return nodes;
}

Json placement_json(const place::PlacedJob& placed, double seconds, MinipodIds ids) {
  const place::Plan& plan = placed.plan;
  Json result = {{"S", plan.spread.S}, {"Q", plan.spread.Q},
                 {"J", plan.J},        {"J_lb", plan.J_lb},
                 {"gap", placed.gap},  {"optimal", placed.optimal},
                 {"seconds", seconds}, {"nodes", nodes_json(plan, ids)}};
  if (!placed.spares.empty()) {
    Json spares = Json::array();
    for (const place::SpareHost& spare : placed.spares) {
      spares.push_back({{"minipod", spare.minipod}, {"host", spare.host}});
    }
    result["spares"] = std::move(spares);
  }
  if (!placed.families.empty()) {
    Json families = Json::array();
    for (const place::FamilySpread& family : placed.families) {
      families.push_back({{"name", family.name}, {"spread", family.spread}, {"mean", family.mean}});
    }
    result["families"] = std::move(families);
  }
  if (placed.predicted_seconds) {
    result["predicted_seconds"] = *placed.predicted_seconds;
  }
  return result;
}

std::string placement_text(const place::PlacedJob& placed, double seconds) {
  const place::Plan& plan = placed.plan;
  std::string text = fmt::format(
      "{} nodes: a pipeline touches at most S {} minipods, a data-parallel group at most Q {}; J {:.4g} at "
      "alpha "
      "{:.4g}, {}; {:.3f} s\n",
      plan.nodes.size(), plan.spread.S, plan.spread.Q, plan.J, plan.alpha,
      placed.optimal
          ? "optimal"
          : fmt::format("at most {:.1f} % above the best (bound {:.4g})", placed.gap * 100, plan.J_lb),
      seconds);
  text += "pairs (S, Q) that can be had:";
  for (const place::FrontierPoint& point : placed.frontier.points) {
    text += fmt::format(" ({}, {})", point.spread.S, point.spread.Q);
  }
  text += fmt::format("\nrank 0 on {}, {} rank order\n", plan.nodes.front().host, place::name_of(plan.order));
  for (const place::FamilySpread& family : placed.families) {
    text += fmt::format("{} groups touch at most {} minipods, {:.3g} on average\n", family.name,
                        family.spread, family.mean);
  }
  if (placed.predicted_seconds) {
    text += fmt::format("predicted {:.4g} s of communication a step\n", *placed.predicted_seconds);
  }
  for (const place::SpareHost& spare : placed.spares) {
    text += fmt::format("spare in {}: {}\n", spare.minipod, spare.host);
  }
  return text + minipod_table(plan);
}

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
// rudder place advise, rudder place replace: before and after a job runs.
#include <fmt/format.h>

#include "rudder/place/job.h"
#include "rudder/report/table.h"

#include "cli/command.h"
#include "cli/place_files.h"
#include "cli/place_inputs.h"
#include "cli/place_result.h"
#include "cli/place_weights.h"

namespace rudder::cli {
namespace {

Json frontier_json(const place::Frontier& frontier) {
  Json points = Json::array();
  for (const place::FrontierPoint& point : frontier.points) {
    points.push_back({{"S", point.spread.S}, {"Q", point.spread.Q}});
  }
  return points;
}

Json advice_json(const place::Advice& advice) {
  return {{"tp", advice.shape.tp},
          {"pp", advice.shape.pp},
          {"dp", advice.shape.dp},
          {"rows", advice.grid.rows},
          {"columns", advice.grid.columns},
          {"alpha", advice.alpha},
          {"S", advice.best.S},
          {"Q", advice.best.Q},
          {"J", advice.J},
          {"J_lb", advice.J_lb},
          {"dp_bytes_per_step", advice.volumes.dp_bytes_per_step},
          {"pp_bytes_per_step", advice.volumes.pp_bytes_per_step},
          {"predicted_seconds", advice.predicted_seconds},
          {"frontier", frontier_json(advice.frontier)}};
}

class PlaceAdvise final : public Command {
 public:
  PlaceAdvise() {
    options().integer<std::int32_t>("gpus", advise_.gpus, 0, 1 << 24, "GPUs of the job; required");
    options().integer<std::int32_t>("gpus-per-node", advise_.gpus_per_node, 1, 1024, "GPUs of a node");
    options().text("capacities", "N,N", capacities_,
                   "Usable nodes of each minipod; stands for a topology file");
    options().path("topology", topology_, "Topology file of the cluster");
    topology_input_.add_options(options());
    model_.add_options(options());
    options().real("seconds", advise_.limits.seconds, 0, 3600, "Time of the search for each split");
    options().integer<std::uint64_t>("rows", rows_, 1, 1'000'000, "Most splits of the text table");
    add_json_option();
  }
  Result<int> run(const Program&) override {
    if (advise_.gpus == 0) {
      return Error{Errc::kInvalidArgument, "--gpus N is required"};
    }
    RUDDER_TRY(model_.require_described("an advice"));
    RUDDER_ASSIGN(const std::vector<std::int32_t> capacities, usable());
    advise_.link = model_.link();
    if (const place::ModelShape& model = model_.model();
        advise_.gpus > 1 && model.global_batch / model.micro_batch == 1) {
      say(fmt::format(
          "note: only DP 1 divides --global-batch {} in micro-batches of {}; other splits are left out",
          model.global_batch, model.micro_batch));
    }
    RUDDER_ASSIGN(const std::vector<place::Advice> splits,
                  place::advise(model_.model(), capacities, advise_));
    if (json()) {
      Json rows = Json::array();
      for (const place::Advice& advice : splits) {
        rows.push_back(advice_json(advice));
      }
      print_json({{"rows", std::move(rows)}});
      return 0;
    }
    report::TextTable table(
        {"TP", "PP", "DP", "grid", "alpha", "S", "Q", "J", "bound", "s/step", "pairs (S,Q)"});
    for (std::size_t i = 0; i < std::min<std::size_t>(splits.size(), rows_); ++i) {
      const place::Advice& advice = splits[i];
      std::string pairs;
      for (const place::FrontierPoint& point : advice.frontier.points) {
        pairs += fmt::format("{}({},{})", pairs.empty() ? "" : " ", point.spread.S, point.spread.Q);
      }
      table.add({std::to_string(advice.shape.tp), std::to_string(advice.shape.pp),
                 std::to_string(advice.shape.dp), fmt::format("{}x{}", advice.grid.rows, advice.grid.columns),
                 fmt::format("{:.3f}", advice.alpha), std::to_string(advice.best.S),
                 std::to_string(advice.best.Q), fmt::format("{:.3f}", advice.J),
                 fmt::format("{:.3f}", advice.J_lb), fmt::format("{:.4g}", advice.predicted_seconds), pairs});
    }
    say(table.text());
    return 0;
  }

 private:
  Result<std::vector<std::int32_t>> usable() const {
    RUDDER_TRY(require_one_cluster(capacities_, topology_));
    if (!capacities_.empty()) {
      return parse_capacities(capacities_);
    }
    RUDDER_ASSIGN(const LoadedTopology loaded, topology_input_.load(topology_));
    return free_hosts(loaded);
  }

  TopologyInput topology_input_;
  ModelInput model_;
  place::AdviseOptions advise_;
  std::string capacities_;
  std::filesystem::path topology_;
  std::uint64_t rows_ = 30;
};

class PlaceReplace final : public Command {
 public:
  PlaceReplace() {
    options().path("topology", topology_, "Topology file of the cluster; required");
    topology_input_.add_options(options());
    options().text("failed", "HOSTS", failed_, "Hosts to replace: a host list, or @FILE; required");
    options().text("spares", "HOSTS", spares_,
                   "Hosts kept back for the job: usable though busy, and preferred");
    options().text("exclude", "HOSTS", excluded_, "Hosts not to use");
    files_.add_options(options());
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("PLACEMENT", file_, "Canonical JSON of the placement");
  }
  Result<int> run(const Program&) override {
    if (topology_.empty() || failed_.empty()) {
      return Error{Errc::kInvalidArgument, "--topology FILE and --failed HOSTS are required"};
    }
    RUDDER_ASSIGN(const LoadedTopology loaded, topology_input_.load(topology_));
    RUDDER_ASSIGN(const place::Plan plan, place::read_plan(file_));
    RUDDER_ASSIGN(const std::vector<std::string> failed, parse_hosts(failed_));
    place::ReplaceOptions replace;
    replace.minipod_level = loaded.level;
    RUDDER_ASSIGN(replace.spares, parse_hosts(spares_));
    RUDDER_ASSIGN(replace.excluded, parse_hosts(excluded_));
    const Result<place::Replacement> found = place::replace_hosts(loaded.topology(), plan, failed, replace);
    if (!found) {
      return found.error().in(file_.string());
    }
    const place::Replacement& result = *found;
    RUDDER_ASSIGN(const std::vector<std::string> written, files_.write(result.plan));
    if (!result.ignored.empty()) {
      say(fmt::format("note: {} failed hosts are not in the placement and change nothing: {}",
                      result.ignored.size(), some(result.ignored)));
    }
    if (json()) {
      print_json(result_json(result));
      return 0;
    }
    for (const place::Replaced& moved : result.hosts) {
      say(fmt::format("row {}, stage {}: {} -> {} in {}, J {:+.4g}", moved.row, moved.stage, moved.failed,
                      moved.host, moved.minipod, moved.delta_J));
    }
    say(fmt::format("S {}, Q {}, J {:.4g} (before: S {}, Q {}, J {:.4g})", result.plan.spread.S,
                    result.plan.spread.Q, result.plan.J, plan.spread.S, plan.spread.Q, plan.J));
    for (const std::string& line : written) {
      say(line);
    }
    return 0;
  }

 private:
  static Json result_json(const place::Replacement& result) {
    Json moves = Json::array();
    for (const place::Replaced& moved : result.hosts) {
      moves.push_back({{"row", moved.row},
                       {"stage", moved.stage},
                       {"failed", moved.failed},
                       {"host", moved.host},
                       {"minipod", moved.minipod},
                       {"delta_J", moved.delta_J}});
    }
    return {{"S", result.plan.spread.S},
            {"Q", result.plan.spread.Q},
            {"J", result.plan.J},
            {"replaced", std::move(moves)},
            {"nodes", nodes_json(result.plan, MinipodIds::kNames)}};
  }

  TopologyInput topology_input_;
  std::filesystem::path file_;
  std::filesystem::path topology_;
  HandOverInput files_;
  std::string failed_;
  std::string spares_;
  std::string excluded_;
};

}  // namespace

std::unique_ptr<Command> make_place_advise() {
  return std::make_unique<PlaceAdvise>();
}
std::unique_ptr<Command> make_place_replace() {
  return std::make_unique<PlaceReplace>();
}

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
// rudder place: a job's ranks on a cluster, and the files to hand over.
#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/clock.h"
#include "rudder/core/files.h"
#include "rudder/place/job.h"
#include "rudder/place/lp.h"

#include "cli/command.h"
#include "cli/place_files.h"
#include "cli/place_inputs.h"
#include "cli/place_methods.h"
#include "cli/place_result.h"
#include "cli/place_weights.h"

namespace rudder::cli {
namespace {

/// A cluster without names: minipod k is "m<k>" with hosts "m<k>n0", "m<k>n1", ...
Result<place::Topology> nameless_topology(const std::vector<std::int32_t>& capacities, place::Grid grid) {
  std::vector<place::Switch> switches;
  std::vector<place::Host> hosts;
  constexpr std::size_t kMaxHosts = std::size_t{1} << 24;
  for (std::size_t k = 0; k < capacities.size(); ++k) {
    switches.push_back({fmt::format("m{}", k), place::kNoSwitch, 0});
    const std::int64_t usable = std::min<std::int64_t>(capacities[k], grid.cells());  // more changes nothing
    if (hosts.size() + static_cast<std::size_t>(usable) > kMaxHosts) {
      return Error{Errc::kInvalidArgument, fmt::format("--capacities: more than {} nodes", kMaxHosts)};
    }
    for (std::int64_t n = 0; n < usable; ++n) {
      hosts.push_back(
          {fmt::format("m{}n{}", k, n), static_cast<place::SwitchId>(k), place::HostState::kFree});
    }
  }
  if (hosts.empty()) {
    return Error{Errc::kResource, fmt::format("no minipod has a node; {} are needed", grid.cells())};
  }
  return place::canonical_topology(std::move(switches), std::move(hosts));
}

class Place final : public Command {
 public:
  Place() {
    options().text("capacities", "N,N", capacities_,
                   "Usable nodes of each minipod; stands for a topology file");
    options().text("shape", "RxC", grid_,
                   "Pipelines x stages, in nodes; stands for --tp G --pp C --dp R with G GPUs a node");
    options().path("topology", topology_, "Topology file of the cluster");
    topology_input_.add_options(options());
    shape_.add_options(options());
    alpha_.add_options(options());
    add_search_options();
    model_.add_options(options());
    add_output_options();
    add_json_option();
  }
  Result<int> run(const Program&) override {
    RUDDER_TRY(settle_shape());
    RUDDER_ASSIGN(place::PlaceOptions job, job_options());
    RUDDER_ASSIGN(const LoadedTopology loaded, load());
    job.minipod_level = loaded.level;
    const TimePoint start = steady_clock().now();
    const Result<place::PlacedJob> solved = place::place_job(loaded.topology(), shape_.shape, job);
    if (!solved) {
      const bool short_of_hosts = solved.error().code == Errc::kResource && spares_ > 0;
      return short_of_hosts ? solved.error().in(fmt::format("with --spares {} a minipod", spares_))
                            : solved.error();
    }
    const place::PlacedJob& placed = *solved;
    const double seconds = to_seconds(steady_clock().now() - start);
    RUDDER_ASSIGN(const std::vector<std::string> written, files_.write(placed.plan));
    if (write_lp_ != "none") {
      RUDDER_TRY(write_programs(loaded, job));
    }
    if (json()) {
      print_json(
          placement_json(placed, seconds, capacities_.empty() ? MinipodIds::kNames : MinipodIds::kNumbers));
      return 0;
    }
    for (const std::string& remark : loaded.remarks) {
      say(remark);
    }
    say(placement_text(placed, seconds));
    for (const std::string& line : written) {
      say(line);
    }
    return 0;
  }

 private:
  void add_search_options() {
    options().choice(
        "method", method_, place_method_names(),
        "rudder solves; the others are there to compare with (arnold: Eq. 4 with sequential ranks)");
    options().integer<std::uint32_t>("seed", seed_, 0, ~std::uint32_t{0}, "Of random-fit and topo-aware");
    options().choice(
        "metric", metric_, {"count", "ring"},
        "Spread of a group: minipods that it touches, or links of a ring through them (0 for one)");
    options().choice("objective", objective_, {"spread", "seconds"},
                     "What is least: alpha Q + (1 - alpha) S, or predicted seconds of the model's groups");
    options().integer<std::int32_t>("ep", ep_, 1, 1 << 20,
                                    "Expert-parallel members of a group inside DP x CP");
    options().toggle("experts-together", experts_together_, "Keep each expert group inside one minipod");
    options().text("exclude", "HOSTS", excluded_, "Hosts not to use: a host list, or @FILE");
    options().integer<std::int32_t>("spares", spares_, 0, 1 << 20,
                                    "Hosts kept back in each minipod that the job uses");
    options().real("seconds", limits_.seconds, 0, 3600, "Time of the search after the constructions");
  }
  void add_output_options() {
    options().text("job", "NAME", job_, "The job's name in files");
    files_.add_options(options());
    options().choice(
        "write-lp", write_lp_, {"none", "eq2", "eq4"},
        "Also write the program in LP format: eq2 (the exact one) or eq4 (Arnold's, for both units)");
  }

  /// --shape stands for TP = g, PP = columns, DP = rows; sizes that say otherwise are an error.
  Status settle_shape() {
    RUDDER_TRY(require_one_cluster(capacities_, topology_));
    if (grid_.empty()) {
      return {};
    }
    RUDDER_ASSIGN(const place::Grid grid, parse_grid(grid_));
    const place::JobShape given = shape_.shape;
    shape_.shape = {.gpus_per_node = given.gpus_per_node,
                    .tp = given.gpus_per_node,
                    .pp = grid.columns,
                    .dp = grid.rows,
                    .cp = 1};
    const auto agree = [&](const char* key, std::int32_t asked, std::int32_t meant) -> Status {
      if (options().origin(key) == "default" || asked == meant) {
        return {};
      }
      return Error{Errc::kInvalidArgument, fmt::format("--shape {} stands for --{} {} and --{} {} was given",
                                                       grid_, key, meant, key, asked)};
    };
    RUDDER_TRY(agree("tp", given.tp, shape_.shape.tp));
    RUDDER_TRY(agree("pp", given.pp, shape_.shape.pp));
    RUDDER_TRY(agree("dp", given.dp, shape_.shape.dp));
    return agree("cp", given.cp, shape_.shape.cp);
  }

  Result<LoadedTopology> load() const {
    if (!topology_.empty()) {
      return topology_input_.load(topology_);
    }
    LoadedTopology loaded;
    RUDDER_ASSIGN(const std::vector<std::int32_t> capacities, parse_capacities(capacities_));
    RUDDER_ASSIGN(const place::Grid grid, place::grid_of(shape_.shape));
    RUDDER_ASSIGN(loaded.file.topology, nameless_topology(capacities, grid));
    loaded.level = 0;
    return loaded;
  }

  Result<place::PlaceOptions> job_options() const {
    place::PlaceOptions job;
    job.job = job_;
    RUDDER_ASSIGN(job.alpha, alpha_.alpha(model_, shape_.shape));
    job.metric = metric_ == "ring" ? place::Metric::kRing : place::Metric::kCount;
    RUDDER_ASSIGN(job.order, shape_.rank_order());
    job.spares_per_minipod = spares_;
    RUDDER_ASSIGN(job.excluded, parse_hosts(excluded_));
    job.ep = ep_;
    job.experts_together = experts_together_;
    job.limits = limits_;
    job.cells = place_method(method_, job.order, job.alpha, seed_);
    if (objective_ == "seconds") {
      RUDDER_ASSIGN(job.physical, model_.cost(shape_.shape));
    }
    return job;
  }

  Status write_programs(LoadedTopology loaded, const place::PlaceOptions& job) const {
    if (files_.folder().empty()) {
      return Error{Errc::kInvalidArgument, "--write-lp needs --out FOLDER"};
    }
    for (place::Host& host : loaded.file.topology.hosts) {
      if (std::find(job.excluded.begin(), job.excluded.end(), host.name) != job.excluded.end()) {
        host.state = place::HostState::kBusy;
      }
    }
    std::vector<std::int32_t> usable = free_hosts(loaded);
    for (std::int32_t& nodes : usable) {
      nodes = std::max(0, nodes - job.spares_per_minipod);
    }
    RUDDER_ASSIGN(const place::Grid grid, place::grid_of(shape_.shape));
    if (write_lp_ == "eq2") {
      RUDDER_ASSIGN(const std::string program, place::eq2_program(usable, grid, job.alpha));
      return write_text(files_.folder() / "eq2.lp", program);
    }
    RUDDER_ASSIGN(const std::string pipelines,
                  place::eq4_program(usable, grid, place::Unit::kPipeline, job.alpha));
    RUDDER_ASSIGN(const std::string columns,
                  place::eq4_program(usable, grid, place::Unit::kDataParallel, job.alpha));
    RUDDER_TRY(write_text(files_.folder() / "eq4-pipelines.lp", pipelines));
    return write_text(files_.folder() / "eq4-columns.lp", columns);
  }

  TopologyInput topology_input_;
  ShapeInput shape_;
  AlphaInput alpha_;
  ModelInput model_;
  std::string capacities_;
  std::string grid_;
  std::filesystem::path topology_;
  std::string method_ = "rudder";
  std::uint32_t seed_ = 1;
  std::string metric_ = "count";
  std::string objective_ = "spread";
  std::int32_t ep_ = 1;
  bool experts_together_ = false;
  std::string excluded_;
  std::int32_t spares_ = 0;
  place::SolveLimits limits_;
  std::string job_ = "job";
  std::string write_lp_ = "none";
  HandOverInput files_;
};

}  // namespace

std::unique_ptr<Command> make_place() {
  return std::make_unique<Place>();
}

}  // namespace rudder::cli

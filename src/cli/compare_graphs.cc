// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_graphs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/text.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/importers.h"
#include "rudder/sim/record.h"

#include "cli/run_options.h"

namespace rudder::cli {
namespace {

constexpr std::array<std::string_view, 6> kGraphs = {"debian", "wordnet",  "cora",
                                                     "rmat",   "chung-lu", "planted"};
constexpr std::size_t kUsualBatch = 512;  // of large graphs
constexpr std::size_t kLeastSteps = 16;   // an epoch of small ones

/// So many seeds that an epoch has some steps to steer in.
std::size_t usual_batch(const graph::PartitionedGraph& graph) {
  std::size_t most = 0;
  for (PartId part = 0; part < graph.book().parts(); ++part) {
    most = std::max(most, graph.train(part).size());
  }
  return std::clamp<std::size_t>(most / kLeastSteps, 1, kUsualBatch);
}

}  // namespace

void CompareGraphs::add_options(OptionTable& table) {
  table.text("graphs", "LIST", names_, fmt::format("Of {}", fmt::join(kGraphs, ", ")));
  table.path("graph", cora_,
             "Planetoid folder (ind.cora.*) that cora is read from; without it cora is skipped");
  table.integer<int>("scale", scale_, 8, 24, "rmat: 2^N nodes");
  table.integer<NodeId>("nodes", nodes_, 256, NodeId{1} << 26, "chung-lu, planted: nodes");
  add_partition_options(table, partition_);
  table.integers("fanout", fanout_, -1, 1 << 20, "Neighbours sampled a node, hops from the seeds outwards");
  table.integer<std::size_t>(
      "batch", batch_, 0, std::size_t{1} << 24,
      fmt::format("Seed nodes a step of each rank; 0: {}, or fewer so that an epoch has {} steps",
                  kUsualBatch, kLeastSteps));
  table.integer<std::uint32_t>("epochs", epochs_, 1, 1'000'000, "Passes over the training nodes");
  table.integer<std::size_t>("seeds", seeds_, 1, 1000,
                             "Runs of each graph: batches and samples of their own");
  table.integer<std::uint64_t>("seed", seed_, 0, std::numeric_limits<std::uint64_t>::max() / 2,
                               "The first run's seed, and that of graphs, partitions and classifiers");
}

Status CompareGraphs::check() const {
  const std::vector<std::string> names = split_list(names_);
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(kGraphs.begin(), kGraphs.end(), *name) == kGraphs.end()) {
      const std::string near = nearest_name(*name, kGraphs);
      return Error{
          Errc::kInvalidArgument,
          fmt::format("--graphs: '{}' is not one of {}{}", printable(*name), fmt::join(kGraphs, ", "),
                      near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
    }
    if (std::find(names.begin(), name, *name) != name) {
      return Error{Errc::kInvalidArgument, fmt::format("--graphs: {} stands there twice", *name)};
    }
  }
  return {};
}

Result<graph::GraphData> CompareGraphs::data_of(const std::string& name) const {
  if (name == "cora") {
    return graph::import_graph(graph::ImportFormat::kPlanetoid, cora_, {});
  }
  graph::GeneratorOptions options;
  options.seed = seed_;
  options.scale = scale_;
  options.nodes = nodes_;
  return graph::generate_graph(name, options);
}

Result<ComparedGraph> CompareGraphs::trace(const std::string& name, const graph::GraphData& data,
                                           const std::filesystem::path& folder) const {
  RUDDER_TRY(graph::write_graph(folder / "graph", data));
  RUDDER_ASSIGN(const graph::Graph whole, graph::Graph::open(folder / "graph"));
  graph::PartitionOptions partition = partition_;
  partition.seed = seed_;
  RUDDER_ASSIGN(const graph::PartitionReport cut,
                graph::partition_graph(whole, partition, folder / "partition", {}));
  RUDDER_ASSIGN(const graph::PartitionedGraph parts, graph::PartitionedGraph::open(folder / "partition"));
  ComparedGraph made;
  made.name = made.traced.name = name;
  made.nodes = whole.meta().nodes;
  made.edges = whole.meta().edges / 2;
  made.halo = std::accumulate(cut.halo.begin(), cut.halo.end(), NodeId{0});
  made.batch = batch_ > 0 ? batch_ : usual_batch(parts);
  for (std::size_t i = 0; i < seeds_; ++i) {
    const std::filesystem::path path = folder / fmt::format("trace-{}", seed_ + i);
    RUDDER_ASSIGN(
        const sim::RecordReport recorded,
        sim::record_trace(
            parts, {.seed = seed_ + i, .batch = made.batch, .epochs = epochs_, .fanout = fanout_}, path, {}));
    made.steps_per_epoch = recorded.steps / epochs_;
    made.traced.traces.push_back(path);
  }
  return made;
}

Result<std::vector<ComparedGraph>> CompareGraphs::make(
    const std::filesystem::path& folder, std::vector<Skipped>& skipped,
    const std::function<void(double, std::string_view)>& progress) const {
  RUDDER_TRY(check());
  const std::vector<std::string> names = split_list(names_);
  std::vector<ComparedGraph> made;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    progress(static_cast<double>(i) / static_cast<double>(names.size()), name + ": making and recording it");
    if (name == "cora" && cora_.empty()) {
      skipped.push_back({name, "no --graph names its folder"});
      continue;
    }
    const Result<graph::GraphData> data = data_of(name);
    if (!data.ok() && (name == "debian" || name == "wordnet")) {
      skipped.push_back({name, data.error().message});
      continue;
    }
    if (!data.ok()) {
      return data.error().in(name);
    }
    Result<ComparedGraph> graph = trace(name, *data, folder / name);
    if (!graph.ok()) {
      return graph.error().in(name);
    }
    made.push_back(std::move(graph).value());
  }
  return made;
}

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rudder/cache/buffer_size.h"
#include "rudder/cache/trace.h"
#include "rudder/core/files.h"
#include "rudder/core/log.h"
#include "rudder/core/machine.h"
#include "rudder/core/text.h"
#include "rudder/graph/generators.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/partition.h"
#include "rudder/launch/process.h"
#include "rudder/report/demo_report.h"
#include "rudder/report/progress.h"
#include "rudder/sim/record.h"
#include "rudder/sim/replay.h"

#include "cli/command.h"
#include "cli/demo_cluster.h"
#include "cli/run_options.h"

namespace rudder::cli {
namespace {

constexpr std::string_view kMarker = ".rudder-demo";  // what this command may delete

/// Means over all epochs but the first, which also fills caches and pools; over all when there is one.
void fill_times(const std::vector<train::EpochResult>& epochs, report::DemoRow& row) {
  const std::size_t first = epochs.size() > 1 ? 1 : 0;
  const auto count = static_cast<double>(epochs.size() - first);
  for (std::size_t i = first; i < epochs.size(); ++i) {
    row.epoch_seconds += epochs[i].seconds / count;
    row.compute_seconds += epochs[i].compute_seconds / count;
    row.all_reduce_seconds += epochs[i].all_reduce_seconds / count;
    row.stall_seconds += epochs[i].stall_seconds / count;
  }
}

class Demo final : public Command {
 public:
  Demo() {
    train_.epochs = 3;
    options().path("graph", graph_, "Graph folder; without it the debian graph is made");
    options().path("out", out_, "Folder for the graph, the partition, the runs and report.html (replaced)");
    options().integer<PartId>("parts", partition_.parts, 1, 64, "Hosts: parts and trainer processes");
    add_link_option(options(), link_, link_rate_, "Rate of each host's link, each way");
    options().choice("links", links_, {"auto", "namespaces", "token-bucket"},
                     "How links are made; auto: namespaces when allowed, else the token bucket");
    add_buffer_option(options(), train_.buffer);
    options().text("policies", "NAMES", policies_, "Policies to compare, separated by commas");
    add_schedule_options(options(), train_);
    add_model_options(options(), train_);
    add_policy_settings(options(), train_.settings);
    add_pipeline_options(options(), train_);
    add_json_option();
  }

  Result<int> run(const Program& program) override {
    RUDDER_TRY(check());
    RUDDER_TRY(prepare_folder());
    RUDDER_TRY(make_partition());
    RUDDER_TRY(find_minimum());
    const launch::SignalScope
        signals;  // the cluster's namespaces must go before a signal may end this process
    RUDDER_ASSIGN(Cluster cluster, Cluster::create({.executable = program.executable,
                                                    .hosts = partition_.parts,
                                                    .link_bits_per_second = link_rate_,
                                                    .link_text = link_,
                                                    .kind = links_}));
    say("links: " + cluster.link_description());
    describe(program, cluster);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Status ran = run_policy(cluster, i);
      if (!ran.ok() && cluster.received_signal() != 0) {
        say("rudder: " + ran.error().message);
        return 128 + cluster.received_signal();
      }
      RUDDER_TRY(ran);
    }
    for (report::DemoRow& row : report_.rows) {
      const auto none = std::find_if(report_.rows.begin(), report_.rows.end(),
                                     [](const report::DemoRow& other) { return other.policy == "none"; });
      row.speedup_vs_none = none != report_.rows.end() ? none->epoch_seconds / row.epoch_seconds : 0;
    }
    say(report::demo_table(report_));
    const std::filesystem::path page = out_ / "report.html";
    RUDDER_TRY(report::write_demo_html(page, report_));
    say(fmt::format("report: {}", page.string()));
    if (json()) {
      print_json(result_json());
    }
    return 0;
  }

 private:
  Status check() {
    names_ = split_list(policies_);
    for (const std::string& name : names_) {
      RUDDER_ASSIGN(const cache::PolicyInfo* info, cache::find_policy(name));
      if (!info->live) {
        return Error{
            Errc::kInvalidArgument,
            fmt::format("policy '{}' needs the whole trace, so it cannot run live; see rudder trace replay",
                        name)};
      }
    }
    RUDDER_ASSIGN(buffer_, cache::parse_buffer_size(train_.buffer));
    return {};
  }

  Status prepare_folder() {
    std::error_code ignored;
    if (std::filesystem::exists(out_, ignored) && !std::filesystem::is_empty(out_, ignored)) {
      if (!std::filesystem::exists(out_ / kMarker, ignored)) {
        return Error{Errc::kInvalidArgument,
                     fmt::format("{}: not empty and not made by an earlier demo; choose another --out",
                                 out_.string())};
      }
      std::filesystem::remove_all(out_, ignored);
    }
    RUDDER_TRY(make_directories(out_));
    return write_text(out_ / kMarker, "");
  }

  Status make_partition() {
    report::Progress progress("demo");
    if (graph_.empty()) {
      progress.update(0, "making the graph of this system's packages");
      RUDDER_ASSIGN(const graph::GraphData data, graph::generate_graph("debian", {.seed = train_.seed}));
      graph_ = out_ / "graph";
      RUDDER_TRY(graph::write_graph(graph_, data));
    }
    RUDDER_ASSIGN(const graph::Graph graph, graph::Graph::open(graph_));
    partition_.seed = train_.seed;
    RUDDER_ASSIGN(
        const graph::PartitionReport cut,
        graph::partition_graph(graph, partition_, out_ / "partition",
                               [&](double share, std::string_view what) { progress.update(share, what); }));
    const graph::GraphMeta& meta = graph.meta();
    std::string name = "graph";
    for (const auto& [key, value] : meta.origin) {
      if (key == "source") {
        name = value;
      }
    }
    report_.graph =
        fmt::format("{}: {} nodes, {} undirected edges, {} features, {} classes; {} METIS parts cut {} edges",
                    name, meta.nodes, meta.edges / 2, meta.features, meta.classes, cut.parts, cut.edge_cut);
    for (const NodeId halo : cut.halo) {
      slots_ += buffer_.slots(static_cast<std::size_t>(halo));
      halo_ += static_cast<std::uint64_t>(halo);
    }
    progress.note(report_.graph);
    return {};
  }

  /// Records the run's accesses and replays Belady's minimum on them: the bound for every policy.
  Status find_minimum() {
    report::Progress progress("demo");
    progress.update(0, "recording the accesses");
    RUDDER_ASSIGN(const graph::PartitionedGraph graph, graph::PartitionedGraph::open(out_ / "partition"));
    RUDDER_ASSIGN(const sim::RecordReport recorded, sim::record_trace(graph,
                                                                      {.seed = train_.seed,
                                                                       .batch = train_.batch,
                                                                       .epochs = train_.epochs,
                                                                       .fanout = train_.fanout,
                                                                       .threads = train_.threads},
                                                                      out_ / "trace", {}));
    RUDDER_ASSIGN(const cache::Trace trace, cache::read_trace(out_ / "trace"));
    RUDDER_ASSIGN(const cache::PolicyInfo* minimum, cache::find_policy("min"));
    RUDDER_ASSIGN(const sim::ReplayRow row, sim::replay(trace, *minimum, train_.settings, buffer_));
    report_.min_fetched = row.counts.fetched;
    report_.steps_per_epoch = narrow<std::uint32_t>(recorded.steps / train_.epochs);
    progress.note(
        fmt::format("{} batches on each rank ask for {} remote rows; the minimum with this buffer is {}",
                    recorded.steps, recorded.requests, row.counts.fetched));
    return {};
  }

  void describe(const Program& program, const Cluster& cluster) {
    const Machine& machine = this_machine();
    report_.title = fmt::format("Rudder demo: {} hosts, {}", partition_.parts, cluster.link_description());
    report_.machine = fmt::format("{}, {} cores, {}", machine.processor, machine.cores,
                                  human_bytes(static_cast<double>(machine.memory_bytes)));
    report_.link = cluster.link_description();
    report_.command = fmt::format("rudder {}", fmt::join(program.arguments, " "));
    report_.version = RUDDER_VERSION;
    report_.parts = partition_.parts;
    report_.epochs = train_.epochs;
    report_.buffer = fmt::format("{} ({} rows over all hosts, halo {})", train_.buffer, slots_, halo_);
  }

  [[nodiscard]] std::vector<std::string> train_arguments(const std::string& policy) const {
    std::vector<std::string> arguments = {(out_ / "partition").string(), "--policy", policy};
    // Everything that the two commands share goes on under the same name.
    for (const Option& option : options().options()) {
      static constexpr std::array<std::string_view, 8> kOwn = {"graph", "out",      "parts", "link",
                                                               "links", "policies", "json",  "policy"};
      if (std::find(kOwn.begin(), kOwn.end(), option.key) == kOwn.end()) {
        arguments.push_back(fmt::format("--{}={}", option.key, option.show()));
      }
    }
    return arguments;
  }

  Status run_policy(Cluster& cluster, std::size_t index) {
    const std::string& name = names_[index];
    report::Progress progress(fmt::format("{} ({}/{})", name, index + 1, names_.size()));
    progress.update(0, "starting");
    std::uint32_t epochs = 0;
    RUDDER_ASSIGN(const ClusterRun finished,
                  cluster.run(train_arguments(name), out_ / "runs" / name, [&](std::string_view line) {
                    if (line.starts_with("epoch ")) {
                      ++epochs;
                      progress.update(static_cast<double>(epochs) / train_.epochs, line);
                    }
                  }));
    report::DemoRow row;
    row.policy = name;
    fill_times(finished.result.epochs, row);
    for (const train::EpochResult& epoch : finished.result.epochs) {
      row.requests += epoch.requests;
      row.hits += epoch.hits;
      row.fetched += epoch.fetched;
      row.payload_bytes += epoch.payload_bytes;
      row.wire_bytes += epoch.wire_bytes;
    }
    row.link_bytes = finished.link_bytes;
    row.ratio_to_min = report_.min_fetched == 0
                           ? 1
                           : static_cast<double>(row.fetched) / static_cast<double>(report_.min_fetched);
    row.val_accuracy = finished.result.val_accuracy;
    row.test_accuracy = finished.result.test_accuracy;
    row.loss_digest = finished.result.loss_digest;
    row.step_losses = finished.result.step_losses;
    row.step_hit_rates = finished.result.step_hit_rates;
    progress.note(fmt::format(
        "{:<13} {:.2f} s an epoch, stall {:.0f} %, {} rows fetched ({:.3f} x minimum), test {:.4f}", name,
        row.epoch_seconds, 100 * row.stall_seconds / row.epoch_seconds, row.fetched, row.ratio_to_min,
        row.test_accuracy));
    report_.rows.push_back(std::move(row));
    return {};
  }

  [[nodiscard]] Json result_json() const {
    Json rows = Json::array();
    for (const report::DemoRow& row : report_.rows) {
      rows.push_back({{"policy", row.policy},
                      {"epoch_seconds", row.epoch_seconds},
                      {"stall_share", row.stall_seconds / row.epoch_seconds},
                      {"fetched", row.fetched},
                      {"hits", row.hits},
                      {"requests", row.requests},
                      {"wire_bytes", row.wire_bytes},
                      {"test_accuracy", row.test_accuracy},
                      {"loss_digest", row.loss_digest},
                      {"speedup_vs_none", row.speedup_vs_none}});
    }
    return {{"machine", report_.machine}, {"link", report_.link}, {"rows", std::move(rows)}};
  }

  std::filesystem::path graph_;
  std::filesystem::path out_ = "demo-run";
  graph::PartitionOptions partition_;
  std::string link_ = "100Mbit";
  double link_rate_ = 100e6;
  std::string links_ = "auto";
  std::string policies_ = "none,fixed-window,lru,degree,score,lookahead";
  train::TrainOptions train_;

  std::vector<std::string> names_;
  cache::BufferSize buffer_;
  std::uint64_t slots_ = 0;
  std::uint64_t halo_ = 0;
  report::DemoReport report_;
};

}  // namespace

std::unique_ptr<Command> make_demo() {
  return std::make_unique<Demo>();
}

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rudder/cache/buffer_size.h"
#include "rudder/cache/trace.h"
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
#include "cli/demo_rows.h"
#include "cli/own_folder.h"
#include "cli/run_options.h"

namespace rudder::cli {
namespace {

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
    options().text(
        "policies", "NAMES", policies_,
        "Policies to compare, separated by commas; POLICY+agent is steered by this host's language "
        "model, POLICY+fixed always by the same action, POLICY+DECIDER by that one");
    options().text(
        "changing", "NAMES", changing_,
        "The same for runs whose links fall to a quarter for the second third of the epochs; none for "
        "no such runs");
    add_schedule_options(options(), train_);
    add_model_options(options(), train_);
    add_policy_settings(options(), train_.settings);
    add_pipeline_options(options(), train_);
    add_json_option();
  }

  Result<int> run(const Program& program) override {
    RUDDER_TRY(check());
    RUDDER_TRY(renew_own_folder(out_, "demo"));
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
    const Status ran = run_all(cluster, program);
    if (!ran.ok() && cluster.received_signal() != 0) {
      say("rudder: " + ran.error().message);
      return 128 + cluster.received_signal();
    }
    RUDDER_TRY(ran);
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
    for (const std::string& name : split_list(policies_)) {
      RUDDER_ASSIGN(DemoEntry entry, parse_demo_entry(name));
      entries_.push_back(std::move(entry));
    }
    for (const std::string& name : changing_ == "none" ? std::vector<std::string>() : split_list(changing_)) {
      RUDDER_ASSIGN(DemoEntry entry, parse_demo_entry(name));
      entry.shrinks = true;
      entry.folder = "shrinking-" + entry.folder;
      entries_.push_back(std::move(entry));
    }
    RUDDER_ASSIGN(buffer_, cache::parse_buffer_size(train_.buffer));
    return {};
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

  [[nodiscard]] std::vector<std::string> train_arguments(const DemoEntry& entry,
                                                         const std::filesystem::path& run) const {
    std::vector<std::string> arguments = {(out_ / "partition").string(), "--policy", entry.policy};
    // Everything that the two commands share goes on under the same name.
    for (const Option& option : options().options()) {
      static constexpr std::array<std::string_view, 9> kOwn = {
          "graph", "out", "parts", "link", "links", "policies", "changing", "json", "policy"};
      if (std::find(kOwn.begin(), kOwn.end(), option.key) == kOwn.end()) {
        arguments.push_back(fmt::format("--{}={}", option.key, option.show()));
      }
    }
    for (std::string& argument : steering_arguments(entry, run, out_ / "agent.sock")) {
      arguments.push_back(std::move(argument));
    }
    return arguments;
  }

  Status run_all(Cluster& cluster, const Program& program) {
    const bool can_shrink = cluster.kind() == LinkKind::kNamespaces && link_rate_ > 0 && train_.epochs >= 3;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const DemoEntry& entry = entries_[i];
      if (entry.shrinks && !can_shrink) {
        skip(entry,
             "links change between network namespaces only, shaped and in runs of three epochs or more");
        continue;
      }
      if (entry.asks_agent && !have_agent(program)) {
        skip(entry, no_agent_);
        continue;
      }
      RUDDER_ASSIGN(report::DemoRow row, run_entry(cluster, i));
      rows_of(entry).push_back(std::move(row));
    }
    agent_.reset();
    compare(report_.rows);
    for (report::DemoScenario& scenario : report_.scenarios) {
      compare(scenario.rows);
    }
    return {};
  }

  void skip(const DemoEntry& entry, const std::string& why) {
    report_.skipped.push_back(
        fmt::format("{}{}: {}", entry.label, entry.shrinks ? ", shrinking links" : "", why));
    say("skipped: " + report_.skipped.back());
  }

  /// Whether the host's agent runs; starts it once.
  bool have_agent(const Program& program) {
    if (!agent_ && no_agent_.empty()) {
      auto started = DemoAgent::start(program.executable, out_ / "agent.sock");
      if (started.ok()) {
        agent_ = std::move(started).value();
        say("agent: " + agent_->model());
      } else {
        no_agent_ = started.error().message;
      }
    }
    return agent_.has_value();
  }

  std::vector<report::DemoRow>& rows_of(const DemoEntry& entry) {
    if (!entry.shrinks) {
      return report_.rows;
    }
    if (report_.scenarios.empty()) {
      report_.scenarios.push_back(
          {"shrinking-link", "the links fall to a quarter for the second third of the epochs", {}});
    }
    return report_.scenarios.back().rows;
  }

  /// Against on-demand fetching where that was run.
  static void compare(std::vector<report::DemoRow>& rows) {
    const auto none = std::find_if(rows.begin(), rows.end(),
                                   [](const report::DemoRow& row) { return row.policy == "none"; });
    for (report::DemoRow& row : rows) {
      row.speedup_vs_none = none != rows.end() ? none->epoch_seconds / row.epoch_seconds : 0;
    }
  }

  /// Sets the links' rate after `epochs` of a run whose links shrink.
  Status shrink(Cluster& cluster, std::uint32_t epochs) const {
    const std::uint32_t third = train_.epochs / 3;
    if (epochs == third) {
      return cluster.set_rate(link_rate_ / 4);
    }
    return epochs == 2 * third ? cluster.set_rate(link_rate_) : Status();
  }

  Result<report::DemoRow> run_entry(Cluster& cluster, std::size_t index) {
    const DemoEntry& entry = entries_[index];
    const std::string title = entry.shrinks ? entry.label + ", shrinking links" : entry.label;
    report::Progress progress(fmt::format("{} ({}/{})", title, index + 1, entries_.size()));
    progress.update(0, "starting");
    std::uint32_t epochs = 0;
    Status changed;
    const std::filesystem::path run = out_ / "runs" / entry.folder;
    RUDDER_ASSIGN(const ClusterRun finished,
                  cluster.run(train_arguments(entry, run), run, [&](std::string_view line) {
                    if (line.starts_with("epoch ")) {
                      ++epochs;
                      progress.update(static_cast<double>(epochs) / train_.epochs, line);
                      if (entry.shrinks && changed.ok()) {
                        changed = shrink(cluster, epochs);
                      }
                    }
                  }));
    RUDDER_TRY(changed);
    RUDDER_ASSIGN(report::DemoRow row, make_demo_row(entry, finished, run));
    row.ratio_to_min = report_.min_fetched == 0
                           ? 1
                           : static_cast<double>(row.fetched) / static_cast<double>(report_.min_fetched);
    if (row.steering && entry.asks_agent) {
      row.steering->model = agent_->model();
    }
    progress.note(fmt::format(
        "{:<19} {:.2f} s an epoch, stall {:.0f} %, {} rows fetched ({:.3f} x minimum), test {:.4f}", title,
        row.epoch_seconds, 100 * row.stall_seconds / row.epoch_seconds, row.fetched, row.ratio_to_min,
        row.test_accuracy));
    return row;
  }

  [[nodiscard]] Json result_json() const {
    Json object = {
        {"machine", report_.machine}, {"link", report_.link}, {"rows", demo_rows_json(report_.rows)}};
    for (const report::DemoScenario& scenario : report_.scenarios) {
      object["scenarios"].push_back({{"name", scenario.name}, {"rows", demo_rows_json(scenario.rows)}});
    }
    if (!report_.skipped.empty()) {
      object["skipped"] = report_.skipped;
    }
    return object;
  }

  std::filesystem::path graph_;
  std::filesystem::path out_ = "demo-run";
  graph::PartitionOptions partition_;
  std::string link_ = "100Mbit";
  double link_rate_ = 100e6;
  std::string links_ = "auto";
  std::string policies_ =
      "none,fixed-window,lru,degree,score,lookahead,score+fixed,score+agent,lookahead+agent";
  std::string changing_ = "lookahead,lookahead+agent";
  train::TrainOptions train_;

  std::vector<DemoEntry> entries_;
  std::optional<DemoAgent> agent_;
  std::string no_agent_;  ///< why there is none
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

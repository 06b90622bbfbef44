// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/learn/model.h"
#include "rudder/report/progress.h"
#include "rudder/report/table.h"
#include "rudder/sim/steer_compare.h"

#include "cli/agent_options.h"
#include "cli/command.h"
#include "cli/compare_graphs.h"
#include "cli/own_folder.h"
#include "cli/world_options.h"

namespace rudder::cli {
namespace {

std::string all_methods() {
  std::string list = "none,never,fixed:1,fixed:8,fixed:32,llm";
  for (const learn::ModelKind& kind : learn::model_kinds()) {
    list += fmt::format(",{}", kind.name);
  }
  return list + ",nearest,hedge,oracle";
}

class SteerCompare final : public Command {
 public:
  SteerCompare() {
    options().path("out", out_, "Folder for graphs, partitions, traces and classifiers (replaced)");
    graphs_.add_options(options());
    options().text("methods", "LIST", methods_,
                   "none, fixed:P (with every P-th batch), oracle, and deciders");
    options().integer<std::size_t>("horizon", compare_.steer.horizon, 1, 64,
                                   "Windows that counterfactual replay charges an action for");
    options().toggle("unguarded", unguarded_,
                     "Apply what deciders say: no evaluator, no breaker, no fallback");
    options().toggle("synchronous", compare_.steer.synchronous,
                     "Windows wait for decisions, and the wait costs");
    world_.add_to(options());
    add_agent_options(options(), agent_);
    options().integer<std::size_t>("threads", compare_.threads, 1, 1024,
                                   "Runs at a time; never changes a result but latencies");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.footer(
        "Rows and hits are counted by the planner that runs live, on accesses that training would make. Time "
        "is\nsimulated: a cost model's, not measured. Classifiers, nearest and llm know windows of the other "
        "graphs alone.");
  }

  Result<int> run(const Program&) override {
    RUDDER_TRY(parse());
    RUDDER_ASSIGN(const std::unique_ptr<llm::Model> model, choose_methods());
    RUDDER_TRY(renew_own_folder(out_, "steer-compare"));
    std::vector<ComparedGraph> graphs;
    std::vector<sim::CompareRow> rows;
    {
      report::Progress progress("steer compare");
      const auto tell = [&](double share, std::string_view what) { progress.update(share, what); };
      RUDDER_ASSIGN(graphs, graphs_.make(out_, skipped_, tell));
      for (const Skipped& each : skipped_) {
        progress.note(fmt::format("skipped: {} ({})", each.what, each.why));
      }
      std::vector<sim::TracedGraph> traced;
      for (const ComparedGraph& graph : graphs) {
        progress.note(
            fmt::format("{}: {} nodes, {} edges, {} parts with a halo of {} rows in all; batches of {}, "
                        "{} an epoch",
                        graph.name, graph.nodes, graph.edges, graphs_.parts(), graph.halo, graph.batch,
                        graph.steps_per_epoch));
        traced.push_back(graph.traced);
      }
      RUDDER_ASSIGN(rows, sim::compare(traced, compare_, tell));
    }
    print(graphs, rows);
    return 0;
  }

 private:
  Status parse() {
    RUDDER_ASSIGN(compare_.world, world_.world());
    RUDDER_ASSIGN(compare_.buffers, world_.buffers());
    compare_.context.model_timeout = from_seconds(agent_.timeout_seconds);
    compare_.folder = out_;
    compare_.seed = graphs_.first_seed();
    if (unguarded_) {
      compare_.steer = sim::without_guard(compare_.steer);
    }
    return {};
  }

  /// The model, when one was named; without one `llm` is skipped.
  Result<std::unique_ptr<llm::Model>> choose_methods() {
    compare_.methods = split_list(methods_);
    RUDDER_ASSIGN(std::unique_ptr<llm::Model> model, open_patiently(agent_));
    const auto asks = std::find(compare_.methods.begin(), compare_.methods.end(), "llm");
    if (asks != compare_.methods.end() && model == nullptr) {
      skipped_.push_back({"llm", "neither --agent-socket nor --agent-url names a model"});
      compare_.methods.erase(asks);
    } else if (asks != compare_.methods.end()) {
      RUDDER_TRY(wake(*model));
    }
    compare_.context.model = model.get();
    return model;
  }

  void print(const std::vector<ComparedGraph>& graphs, const std::vector<sim::CompareRow>& rows) const {
    if (json()) {
      print_json(result(graphs, rows));
      return;
    }
    report::TextTable table({"graph", "buffer", "method", "%-Hits", "rows moved/epoch", "epoch, simulated s",
                             "decisions", "applied", "dropped"});
    for (const sim::CompareRow& row : rows) {
      const auto text = [&](const sim::Estimate& value, int digits) {
        return row.seeds < 2 ? fmt::format("{:.{}f}", value.mean, digits)
                             : fmt::format("{:.{}f} ± {:.{}f}", value.mean, digits, value.half_width, digits);
      };
      table.add({row.graph, row.buffer, row.method, text(row.hits_percent, 2), text(row.moved_rows, 0),
                 text(row.epoch_seconds, 4), std::to_string(row.decisions), std::to_string(row.applied),
                 std::to_string(row.dropped)});
    }
    say(table.text());
    say(fmt::format("± is half of the 95 % interval of the mean over {} seeds. Time is simulated: {}.",
                    rows.empty() ? 0 : rows.front().seeds, world_.text()));
  }

  [[nodiscard]] Json result(const std::vector<ComparedGraph>& graphs,
                            const std::vector<sim::CompareRow>& rows) const {
    Json object = {{"time", "simulated"},      {"conditions", world_.json()},
                   {"parts", graphs_.parts()}, {"window", compare_.world.window},
                   {"guarded", !unguarded_},   {"graphs", Json::array()},
                   {"rows", Json::array()},    {"skipped", Json::array()}};
    for (const ComparedGraph& graph : graphs) {
      object["graphs"].push_back({{"graph", graph.name},
                                  {"nodes", graph.nodes},
                                  {"edges", graph.edges},
                                  {"halo", graph.halo},
                                  {"batch", graph.batch},
                                  {"steps_per_epoch", graph.steps_per_epoch}});
    }
    for (const sim::CompareRow& row : rows) {
      const auto interval = [&](const sim::Estimate& value) {
        return row.seeds < 2 ? Json(nullptr) : Json(value.half_width);  // one seed tells none
      };
      object["rows"].push_back({{"graph", row.graph},
                                {"buffer", row.buffer},
                                {"method", row.method},
                                {"seeds", row.seeds},
                                {"hits_percent", row.hits_percent.mean},
                                {"hits_percent_interval", interval(row.hits_percent)},
                                {"moved_rows", row.moved_rows.mean},
                                {"moved_rows_interval", interval(row.moved_rows)},
                                {"simulated_epoch_seconds", row.epoch_seconds.mean},
                                {"simulated_epoch_seconds_interval", interval(row.epoch_seconds)},
                                {"windows", row.windows},
                                {"decisions", row.decisions},
                                {"applied", row.applied},
                                {"dropped", row.dropped},
                                {"model_calls", row.model_calls},
                                {"valid_rate", number_or_null(row.valid_rate)},
                                {"latency_p50", number_or_null(row.latency_p50)},
                                {"latency_p95", number_or_null(row.latency_p95)}});
    }
    for (const Skipped& each : skipped_) {
      object["skipped"].push_back({{"what", each.what}, {"why", each.why}});
    }
    return object;
  }

  std::filesystem::path out_ = "steer-compare";
  CompareGraphs graphs_;
  std::string methods_ = all_methods();
  bool unguarded_ = false;
  WorldOptions world_;
  llm::ModelAddress agent_;
  sim::CompareOptions compare_;
  std::vector<Skipped> skipped_;
};

}  // namespace

std::unique_ptr<Command> make_steer_compare() {
  return std::make_unique<SteerCompare>();
}

}  // namespace rudder::cli

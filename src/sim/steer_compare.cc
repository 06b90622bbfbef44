// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/steer_compare.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "rudder/cache/trace.h"
#include "rudder/sim/experiences.h"
#include "rudder/steer/classifier.h"

#include "sim/compare_run.h"
#include "sim/tasks.h"

namespace rudder::sim {
namespace {

const std::vector<std::string> kCollectors = {"hedge", "bandit"};

/// A method's run on one rank, without what is not added up.
struct RankRun {
  double step_seconds = 0;
  std::uint64_t steps = 0, requests = 0, hits = 0, fetched = 0;
  steer::ControllerTotals totals;
};
/// By buffer, rank, method.
using RunsOfSeed = std::vector<std::vector<std::vector<RankRun>>>;

class Comparison {
 public:
  Comparison(const std::vector<TracedGraph>& graphs, const CompareOptions& options,
             const std::function<void(double, std::string_view)>& progress)
      : graphs_(graphs), options_(options), progress_(progress) {}

  Result<std::vector<CompareRow>> run() {
    RUDDER_TRY(check());
    for (const std::string& spec : options_.methods) {
      RUDDER_ASSIGN(Method method, parse_method(spec));
      learns_ = learns_ || method.learns();
      methods_.push_back(std::move(method));
    }
    work_ = learns_ ? 2 * traces() : traces();
    std::vector<std::vector<steer::Experience>> windows(graphs_.size());
    for (std::size_t graph = 0; learns_ && graph < graphs_.size(); ++graph) {
      RUDDER_ASSIGN(windows[graph], collect_windows(graphs_[graph]));
    }
    std::vector<CompareRow> rows;
    for (std::size_t graph = 0; graph < graphs_.size(); ++graph) {
      RUDDER_ASSIGN(const Foreign foreign, learn_from_others(windows, graph));
      RUDDER_TRY(run_graph(graphs_[graph], foreign, rows));
    }
    return rows;
  }

 private:
  [[nodiscard]] Status check() const {
    for (const TracedGraph& graph : graphs_) {
      if (graph.traces.empty()) {
        return Error{Errc::kInvalidArgument, fmt::format("graph {} has no trace", graph.name)};
      }
    }
    if (graphs_.empty() || options_.methods.empty() || options_.buffers.empty()) {
      return Error{Errc::kInvalidArgument, "a comparison needs a graph, a method and a buffer"};
    }
    return {};
  }

  [[nodiscard]] std::size_t traces() const {
    std::size_t count = 0;
    for (const TracedGraph& graph : graphs_) {
      count += graph.traces.size();
    }
    return count;
  }

  /// Runs task(buffer, rank, scenario) for each buffer and rank of a trace.
  template <class Task>
  Status for_each_rank(const cache::Trace& trace, std::string_view what, const Task& task) {
    const std::size_t ranks = trace.header.ranks();
    const std::size_t count = options_.buffers.size() * ranks;
    std::mutex mutex;  // of finished and progress
    std::size_t finished = 0;
    const auto of_rank = [&](std::size_t i) -> Status {
      const auto rank = static_cast<Rank>(i % ranks);
      Result<Scenario> scenario = scenario_of(trace, rank, options_.buffers[i / ranks], options_.world);
      const Status status = scenario ? task(i / ranks, rank, *scenario) : Status(scenario.error());
      if (!status.ok()) {
        return status.error().in(std::string(what));
      }
      if (progress_) {
        const std::scoped_lock lock(mutex);
        const double part = static_cast<double>(++finished) / static_cast<double>(count);
        progress_((static_cast<double>(done_) + part) / static_cast<double>(work_), what);
      }
      return {};
    };
    RUDDER_TRY(run_tasks(count, options_.threads, "rudder-compare", of_rank));
    ++done_;
    return {};
  }

  Result<std::vector<steer::Experience>> collect_windows(const TracedGraph& graph) {
    std::vector<steer::Experience> all;
    for (const std::filesystem::path& path : graph.traces) {
      RUDDER_ASSIGN(const cache::Trace trace, cache::read_trace(path));
      const std::size_t ranks = trace.header.ranks();
      std::vector<std::vector<steer::Experience>> parts(options_.buffers.size() * ranks);
      const Provenance from = {fmt::format("{}-{}", graph.name, trace.header.seed), graph.name};
      const auto task = [&](std::size_t buffer, Rank rank, const Scenario& scenario) -> Status {
        RUDDER_ASSIGN(
            parts[buffer * ranks + rank],
            collect(scenario, from, kCollectors, {.controller = {}, .horizon = options_.steer.horizon}));
        return {};
      };
      RUDDER_TRY(for_each_rank(trace, fmt::format("{}: labels", graph.name), task));
      for (std::vector<steer::Experience>& part : parts) {
        all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
      }
    }
    return all;
  }

  Result<Foreign> learn_from_others(const std::vector<std::vector<steer::Experience>>& windows,
                                    std::size_t graph) const {
    Foreign foreign;
    for (std::size_t other = 0; other < windows.size(); ++other) {
      if (other != graph) {
        foreign.windows.insert(foreign.windows.end(), windows[other].begin(), windows[other].end());
      }
    }
    const steer::ActionSet actions = steer::replace_actions();
    for (const Method& method : methods_) {
      if (method.decider == nullptr || !method.decider->needs_classifier) {
        continue;
      }
      const std::string kind(method.decider->name);
      const steer::ClassifierOptions classifier = {.kind = kind, .seed = options_.seed, .held_out_runs = 0};
      auto trained = steer::train_classifier(foreign.windows, actions, classifier);
      if (!trained) {
        return trained.error().in(
            fmt::format("{} for graph {}, from the other graphs", kind, graphs_[graph].name));
      }
      const std::filesystem::path path =
          options_.folder / fmt::format("{}-without-{}.json", kind, graphs_[graph].name);
      RUDDER_TRY(trained->classifier.save(path));
      foreign.classifiers[kind] = path;
    }
    return foreign;
  }

  Status run_graph(const TracedGraph& graph, const Foreign& foreign, std::vector<CompareRow>& rows) {
    std::vector<RunsOfSeed> seeds;
    std::uint32_t steps_per_epoch = 0;
    for (const std::filesystem::path& path : graph.traces) {
      RUDDER_ASSIGN(const cache::Trace trace, cache::read_trace(path));
      steps_per_epoch = trace.header.steps_per_epoch;
      RunsOfSeed runs(
          options_.buffers.size(),
          std::vector<std::vector<RankRun>>(trace.header.ranks(), std::vector<RankRun>(methods_.size())));
      const auto task = [&](std::size_t buffer, Rank rank, Scenario& scenario) {
        return run_methods(scenario, foreign, runs[buffer][rank]);
      };
      RUDDER_TRY(for_each_rank(trace, graph.name, task));
      seeds.push_back(std::move(runs));
    }
    for (std::size_t buffer = 0; buffer < options_.buffers.size(); ++buffer) {
      for (std::size_t method = 0; method < methods_.size(); ++method) {
        CompareRow row = make_row(seeds, buffer, method, steps_per_epoch);
        row.graph = graph.name;
        rows.push_back(std::move(row));
      }
    }
    return {};
  }

  Status run_methods(Scenario& scenario, const Foreign& foreign, std::vector<RankRun>& runs) const {
    const std::size_t steps = scenario.windows() * scenario.window;
    for (std::size_t i = 0; i < methods_.size(); ++i) {
      RUDDER_ASSIGN(SteeredRun run, run_method(scenario, methods_[i], foreign, options_));
      runs[i] = {run.cost / static_cast<double>(steps),
                 steps,
                 run.requests,
                 run.hits,
                 run.fetched,
                 std::move(run.totals)};
    }
    return {};
  }

  [[nodiscard]] CompareRow make_row(const std::vector<RunsOfSeed>& seeds, std::size_t buffer,
                                    std::size_t method, std::uint32_t steps_per_epoch) const {
    CompareRow row;
    row.buffer = options_.buffers[buffer].text;
    row.method = methods_[method].spec;
    row.seeds = seeds.size();
    std::vector<double> hits, moved, seconds;
    std::vector<const steer::ControllerTotals*> totals;
    for (const RunsOfSeed& seed : seeds) {
      RankRun sum;
      for (const std::vector<RankRun>& rank : seed[buffer]) {
        const RankRun& run = rank[method];
        sum.step_seconds = std::max(sum.step_seconds, run.step_seconds);
        sum.steps = run.steps;  // the same on all ranks
        sum.requests += run.requests;
        sum.hits += run.hits;
        sum.fetched += run.fetched;
        totals.push_back(&run.totals);
      }
      const double epochs = static_cast<double>(sum.steps) / steps_per_epoch;
      hits.push_back(100 * static_cast<double>(sum.hits) /
                     static_cast<double>(std::max<std::uint64_t>(1, sum.requests)));
      moved.push_back(static_cast<double>(sum.fetched) / epochs);
      seconds.push_back(sum.step_seconds * steps_per_epoch);
    }
    row.hits_percent = estimate(hits);
    row.moved_rows = estimate(moved);
    row.epoch_seconds = estimate(seconds);
    static_cast<Deciding&>(row) = deciding(totals);
    return row;
  }

  const std::vector<TracedGraph>& graphs_;
  const CompareOptions& options_;
  const std::function<void(double, std::string_view)>& progress_;
  std::vector<Method> methods_;
  bool learns_ = false;
  std::size_t done_ = 0, work_ = 0;  ///< traces gone through
};

}  // namespace

Result<std::vector<CompareRow>> compare(const std::vector<TracedGraph>& graphs, const CompareOptions& options,
                                        const std::function<void(double, std::string_view)>& progress) {
  return Comparison(graphs, options, progress).run();
}

}  // namespace rudder::sim

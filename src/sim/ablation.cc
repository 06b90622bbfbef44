// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/ablation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "rudder/metrics/quantile.h"
#include "rudder/steer/asking.h"
#include "rudder/steer/classifier.h"
#include "rudder/steer/vote.h"

namespace rudder::sim {
namespace {

using steer::Experience;

constexpr std::size_t kGivenUp = 3;  // calls without an answer before the first that has one

/// What is shown, and what is asked about.
struct Part {
  std::string unseen;
  std::unique_ptr<steer::Memory> memory;
  std::vector<const Experience*> asked;
};

/// Adds up choices.
class Score {
 public:
  void add(const Experience& window, std::size_t action) {
    const double least = *std::min_element(window.costs.begin(), window.costs.end());
    right_.push_back(window.costs[action] <= least ? 1 : 0);
    cost_ += window.costs[action];
    best_ += least;
  }
  void write(AblationRow& row) const {
    row.windows = right_.size();
    row.accuracy = estimate(right_);
    row.regret_oracle = best_ > 0 ? cost_ / best_ - 1 : 0;
  }

 private:
  std::vector<double> right_;
  double cost_ = 0, best_ = 0;
};

class Ablation {
 public:
  Ablation(std::span<const Experience> windows, const steer::ActionSet& actions, llm::Model& model,
           const AblationOptions& options, const std::function<void(double)>& done)
      : windows_(windows), actions_(actions), model_(model), options_(options), done_(done) {}

  Result<std::vector<AblationRow>> run() {
    std::vector<Part> parts;
    RUDDER_TRY(add_runs(parts));
    RUDDER_TRY(add_graphs(parts));
    for (const Part& part : parts) {
      calls_ += part.asked.size() * options_.demonstrations.size();
    }
    std::vector<AblationRow> rows;
    for (const Part& part : parts) {
      rows.push_back(fallback_row(part));
      for (const std::size_t k : options_.demonstrations) {
        RUDDER_ASSIGN(AblationRow asked, model_row(part, k));
        rows.push_back(std::move(asked));
        if (k > 0) {
          RUDDER_ASSIGN(AblationRow voted, vote_row(part, k));
          rows.push_back(std::move(voted));
        }
      }
    }
    return rows;
  }

 private:
  Status add(const std::string& unseen, const std::vector<std::size_t>& shown,
             const std::vector<std::size_t>& held_out, std::vector<Part>& parts) const {
    Part part;
    part.unseen = unseen;
    RUDDER_ASSIGN(part.memory, steer::Memory::open({}, std::max<std::size_t>(1, shown.size())));
    for (const std::size_t i : shown) {
      RUDDER_TRY(part.memory->add(windows_[i]));
    }
    const std::size_t count = std::min(held_out.size(), options_.windows);
    for (std::size_t i = 0; i < count; ++i) {
      part.asked.push_back(&windows_[held_out[i * held_out.size() / count]]);
    }
    parts.push_back(std::move(part));
    return {};
  }

  Status add_runs(std::vector<Part>& parts) const {
    RUDDER_ASSIGN(
        const steer::Split split,
        steer::split_of(windows_, {.seed = options_.seed, .held_out_runs = options_.held_out_runs}));
    if (split.held_out_runs.empty()) {
      return Error{Errc::kInvalidArgument, "no graph has two runs, so none can be held out"};
    }
    return add("runs", split.train, split.held_out_runs, parts);
  }

  Status add_graphs(std::vector<Part>& parts) const {
    std::set<std::string> graphs;
    for (const Experience& each : windows_) {
      graphs.insert(each.graph);
    }
    for (const std::string& graph : graphs) {
      if (graphs.size() == 1) {
        break;
      }
      RUDDER_ASSIGN(
          const steer::Split split,
          steer::split_of(windows_, {.seed = options_.seed, .held_out_runs = 0, .held_out_graphs = {graph}}));
      RUDDER_TRY(add(graph, split.train, split.held_out_graphs, parts));
    }
    return {};
  }

  [[nodiscard]] AblationRow fallback_row(const Part& part) const {
    AblationRow row{.unseen = part.unseen, .chooser = "fallback"};
    Score score;
    for (const Experience* const window : part.asked) {
      score.add(*window, actions_.fallback);
    }
    score.write(row);
    return row;
  }

  [[nodiscard]] Result<AblationRow> vote_row(const Part& part, std::size_t k) const {
    AblationRow row{.unseen = part.unseen, .chooser = "nearest", .demonstrations = k};
    Score score;
    for (const Experience* const window : part.asked) {
      RUDDER_ASSIGN(const std::vector<Experience> near, part.memory->nearest(actions_, window->features, k));
      score.add(*window, steer::vote_of(near, window->features, actions_).action);
    }
    score.write(row);
    return row;
  }

  Result<AblationRow> model_row(const Part& part, std::size_t k) {
    AblationRow row{.unseen = part.unseen, .chooser = "llm", .demonstrations = k};
    steer::Asker asker(actions_, model_, {options_.prompt, options_.seed, options_.job});
    Score score;
    std::vector<double> latencies;
    double tokens = 0;
    for (const Experience* const window : part.asked) {
      RUDDER_ASSIGN(const std::vector<Experience> shown,
                    steer::demonstrations_for(*part.memory, actions_, window->features, k));
      const TimePoint begin = steady_clock().now();
      const auto answer = asker.ask(shown, {}, window->report, options_.timeout);
      std::size_t action = actions_.fallback;
      if (!answer.ok()) {
        ++row.unanswered;
        if (latencies.empty() && row.unanswered == kGivenUp) {
          return answer.error();
        }
      } else {
        latencies.push_back(to_seconds(steady_clock().now() - begin));
        tokens += static_cast<double>(answer->prompt_tokens);
        row.refused += answer->reply ? 0U : 1U;
        action = answer->reply ? answer->reply->action : action;
      }
      score.add(*window, action);
      tell();
    }
    score.write(row);
    if (!latencies.empty()) {
      row.latency_p50 = metrics::quantile(latencies, 0.5);
      row.latency_p95 = metrics::quantile(latencies, 0.95);
      row.prompt_tokens = tokens / static_cast<double>(latencies.size());
    }
    return row;
  }

  void tell() {
    ++made_;
    if (done_) {
      done_(static_cast<double>(made_) / static_cast<double>(calls_));
    }
  }

  std::span<const Experience> windows_;
  const steer::ActionSet& actions_;
  llm::Model& model_;
  const AblationOptions& options_;
  const std::function<void(double)>& done_;
  std::size_t calls_ = 0, made_ = 0;
};

}  // namespace

Result<std::vector<AblationRow>> ablate(std::span<const Experience> windows, const steer::ActionSet& actions,
                                        llm::Model& model, const AblationOptions& options,
                                        const std::function<void(double)>& done) {
  return Ablation(windows, actions, model, options, done).run();
}

}  // namespace rudder::sim

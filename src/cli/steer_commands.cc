// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/report/progress.h"
#include "rudder/report/table.h"
#include "rudder/sim/scenario.h"
#include "rudder/sim/steer_eval.h"
#include "rudder/steer/decider.h"

#include "cli/command.h"

namespace rudder::cli {
namespace {

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string percent(double share, double interval) {
  return fmt::format("{:+.1f} ± {:.1f} %", 100 * share, 100 * interval);
}

class SteerEval final : public Command {
 public:
  SteerEval() {
    eval_.seeds = 3;
    options().text("scenario", "LIST", scenarios_, "Scenarios, or all");
    options().text("decider", "LIST", deciders_,
                   "Deciders as NAME or NAME:ARGUMENT, or all that need no model");
    options().integer<std::size_t>("seeds", eval_.seeds, 1, 1000,
                                   "Runs of each scenario, each of its own seed");
    options().integer<std::uint64_t>("seed", eval_.first_seed, 0, std::uint64_t{1} << 62,
                                     "The first run's seed");
    options().integer<std::size_t>("horizon", eval_.steer.horizon, 1, 64,
                                   "Windows that counterfactual replay charges an action for");
    options().toggle("synchronous", eval_.steer.synchronous,
                     "Windows wait for decisions, and the wait costs");
    options().toggle("unguarded", unguarded_,
                     "Apply what deciders say: no evaluator, no breaker, no fallback");
    options().integer<std::size_t>("threads", eval_.threads, 1, 1024, "Runs at a time");
    add_json_option();
  }

  Result<int> run(const Program&) override {
    choose();
    report::Progress progress("steer eval");
    const std::size_t scenarios =
        eval_.scenarios.empty() ? sim::scenario_table().size() : eval_.scenarios.size();
    const auto total = static_cast<double>(scenarios * eval_.deciders.size());
    double done = 0;
    RUDDER_ASSIGN(const std::vector<sim::EvalRow> rows,
                  sim::evaluate_deciders(eval_, [&](const sim::EvalRow& row) {
                    done += 1;
                    progress.update(done / total, row.scenario);
                  }));
    print(rows);
    return 0;
  }

 private:
  void choose() {
    if (scenarios_ != "all") {
      eval_.scenarios = split_list(scenarios_);
    }
    if (deciders_ != "all") {
      eval_.deciders = split_list(deciders_);
    } else {
      for (const steer::DeciderInfo& info : steer::decider_table()) {
        if (!info.needs_model && !info.needs_classifier && info.argument.empty()) {
          eval_.deciders.emplace_back(info.name);
        }
      }
    }
    if (unguarded_) {
      eval_.steer.controller.guard.tolerated_excess = -1;
      eval_.steer.controller.breaker.dropped = ~std::uint32_t{0};
      eval_.steer.controller.follow_fallback = false;
    }
  }

  void print(const std::vector<sim::EvalRow>& rows) const {
    Json list = Json::array();
    report::TextTable table({"scenario", "decider", "cost, s", "best fixed", "its cost", "oracle",
                             "over best fixed", "over oracle", "applied of", "dropped"});
    for (const sim::EvalRow& row : rows) {
      list.push_back({{"scenario", row.scenario},
                      {"decider", row.decider},
                      {"cost", row.cost},
                      {"best_fixed", row.best_fixed},
                      {"best_fixed_cost", row.best_fixed_cost},
                      {"oracle_cost", row.oracle_cost},
                      {"regret_best_fixed", row.regret_best_fixed},
                      {"regret_oracle", row.regret_oracle},
                      {"valid_rate", number_or_null(row.valid_rate)},
                      {"first_try_direction", number_or_null(row.first_try_direction)},
                      {"decisions", row.decisions},
                      {"model_calls", row.model_calls},
                      {"dropped", row.dropped},
                      {"latency_p50", number_or_null(row.latency_p50)},
                      {"latency_p95", number_or_null(row.latency_p95)}});
      table.add({row.scenario, row.decider, fmt::format("{:.3f} ± {:.3f}", row.cost, row.cost_interval),
                 row.best_fixed, fmt::format("{:.3f}", row.best_fixed_cost),
                 fmt::format("{:.3f}", row.oracle_cost),
                 percent(row.regret_best_fixed, row.regret_best_fixed_interval),
                 percent(row.regret_oracle, row.regret_oracle_interval), std::to_string(row.decisions),
                 std::to_string(row.dropped)});
    }
    if (json()) {
      print_json({{"rows", std::move(list)}});
    } else {
      say(table.text() +
          fmt::format("simulated step time, {} seeds; ± is half of the 95 % interval of the mean",
                      eval_.seeds));
    }
  }

  std::string scenarios_ = "all";
  std::string deciders_ = "all";
  bool unguarded_ = false;
  sim::EvalOptions eval_;
};

}  // namespace

std::unique_ptr<Command> make_steer_eval() {
  return std::make_unique<SteerEval>();
}

}  // namespace rudder::cli

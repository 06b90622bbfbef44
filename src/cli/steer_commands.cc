// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rudder/llm/model.h"
#include "rudder/report/progress.h"
#include "rudder/report/steer_report.h"
#include "rudder/sim/steer_eval.h"
#include "rudder/steer/decider.h"

#include "cli/agent_options.h"
#include "cli/command.h"
#include "cli/steer_result.h"

namespace rudder::cli {
namespace {

class SteerEval final : public Command {
 public:
  SteerEval() {
    eval_.seeds = 3;
    options().text("scenario", "LIST", scenarios_, "Scenarios, or all");
    options().text("decider", "LIST", deciders_,
                   "Deciders as NAME or NAME:ARGUMENT, or all that take no argument: those that a scenario's "
                   "actions, or a missing model or classifier, leave no words for are left out");
    options().choice(
        "guard", guard_, {"on", "off", "both"},
        "off: apply what deciders say, without evaluator, breaker and fallback; both: a row each");
    options().integer<std::size_t>("seeds", eval_.seeds, 1, 1000,
                                   "Runs of each scenario, each of its own seed");
    options().integer<std::uint64_t>("seed", eval_.first_seed, 0, std::uint64_t{1} << 62,
                                     "The first run's seed");
    options().integer<std::size_t>("horizon", eval_.steer.horizon, 1, 64,
                                   "Windows that counterfactual replay charges an action for");
    options().real(
        "half-life", eval_.steer.controller.evaluator_half_life, 0, 1000,
        "Windows in which what replay found loses half of its weight; 0: the last window alone counts");
    options().real("tolerance", eval_.steer.controller.guard.tolerated_excess, 0, 10,
                   "Share by which an action may cost more than the best one, by replay, and be let through");
    options().toggle("synchronous", eval_.steer.synchronous,
                     "Windows wait for decisions, and the wait costs");
    add_agent_options(options(), agent_);
    options().path("html", html_, "Write a page with the tables and timelines");
    options().integer<std::size_t>("threads", eval_.threads, 1, 1024, "Runs at a time");
    add_json_option();
  }

  Result<int> run(const Program& program) override {
    choose();
    RUDDER_TRY(open_model());
    RUDDER_ASSIGN(const sim::Evaluation result, evaluate());
    if (!json()) {
      say(steer_text(result, eval_.seeds));
    }
    if (!html_.empty()) {
      RUDDER_TRY(report::write_steer_html(
          html_, steer_report(result, "rudder " + joined(program.arguments), RUDDER_VERSION)));
      say("report: " + html_.string());
    }
    if (json()) {
      print_json(steer_json(result));
    }
    return 0;
  }

 private:
  static std::string joined(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) {
      line += (line.empty() ? "" : " ") + word;
    }
    return line;
  }

  Result<sim::Evaluation> evaluate() {
    report::Progress progress("steer eval");
    return sim::evaluate_deciders(
        eval_, [&](double share, std::string_view scenario) { progress.update(share, scenario); });
  }

  void choose() {
    if (scenarios_ != "all") {
      eval_.scenarios = split_list(scenarios_);
    }
    eval_.leave_out_unfit = deciders_ == "all";
    if (deciders_ != "all") {
      eval_.deciders = split_list(deciders_);
    } else {
      for (const steer::DeciderInfo& info : steer::decider_table()) {
        if (info.argument.empty()) {
          eval_.deciders.emplace_back(info.name);
        }
      }
    }
    eval_.guarded = guard_ != "off";
    eval_.unguarded = guard_ != "on";
  }

  Status open_model() {
    RUDDER_ASSIGN(model_, open_patiently(agent_));
    if (model_ != nullptr) {
      RUDDER_TRY(wake(*model_));
    }
    eval_.context.model = model_.get();
    eval_.context.model_timeout = from_seconds(agent_.timeout_seconds);
    return {};
  }

  std::string scenarios_ = "all";
  std::string deciders_ = "all";
  std::string guard_ = "on";
  llm::ModelAddress agent_;
  std::filesystem::path html_;
  std::unique_ptr<llm::Model> model_;
  sim::EvalOptions eval_;
};

}  // namespace

std::unique_ptr<Command> make_steer_eval() {
  return std::make_unique<SteerEval>();
}

}  // namespace rudder::cli

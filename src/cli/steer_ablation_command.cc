// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/report/progress.h"
#include "rudder/report/table.h"
#include "rudder/sim/ablation.h"

#include "cli/agent_options.h"
#include "cli/command.h"
#include "cli/experience_input.h"

namespace rudder::cli {
namespace {

class SteerAblation final : public Command {
 public:
  SteerAblation() {
    options().integers("demonstrations", demonstrations_, 0, 64, "Labelled windows shown in a prompt");
    options().integer<std::size_t>("windows", ablation_.windows, 1, 100'000,
                                   "Windows asked about, of unseen runs and of each unseen graph");
    options().real("held-out-runs", ablation_.held_out_runs, 0.01, 0.99,
                   "Share of each graph's runs that is asked about and never shown");
    options().choice("language", ablation_.prompt.language, {"en", "zh"}, "Of prompts");
    options().toggle("reasoning", ablation_.prompt.reasoning, "Let the model reason before it answers");
    add_agent_options(options(), agent_);
    input_.add_to(options());
    add_json_option();
  }

  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const std::unique_ptr<llm::Model> model, open_patiently(agent_));
    if (model == nullptr) {
      return Error{Errc::kInvalidArgument,
                   "a model is asked: --agent-socket PATH (rudder agent) or --agent-url URL names it"};
    }
    ablation_.demonstrations.assign(demonstrations_.begin(), demonstrations_.end());
    ablation_.seed = input_.seed();
    ablation_.timeout = from_seconds(agent_.timeout_seconds);
    RUDDER_TRY(wake(*model));
    RUDDER_ASSIGN(const LabelledWindows loaded, input_.load("steer ablation"));
    std::vector<sim::AblationRow> rows;
    {
      report::Progress progress("steer ablation");
      RUDDER_ASSIGN(rows, sim::ablate(loaded.windows, loaded.actions, *model, ablation_,
                                      [&](double share) { progress.update(share, "asking"); }));
    }
    if (json()) {
      print_json(result(loaded, model->name(), rows));
    } else {
      print(loaded, model->name(), rows);
    }
    return 0;
  }

 private:
  static void print(const LabelledWindows& loaded, const std::string& model,
                    const std::vector<sim::AblationRow>& rows) {
    report::TextTable table({"unseen", "chooser", "shown", "windows", "right", "over oracle", "refused",
                             "unanswered", "p50, ms", "p95, ms", "prompt tokens"});
    const auto number = [](const std::optional<double>& value, double scale) {
      return value ? fmt::format("{:.0f}", scale * *value) : std::string("-");
    };
    for (const sim::AblationRow& row : rows) {
      table.add({row.unseen, row.chooser, std::to_string(row.demonstrations), std::to_string(row.windows),
                 fmt::format("{:.1f} ± {:.1f} %", 100 * row.accuracy.mean, 100 * row.accuracy.half_width),
                 fmt::format("{:+.2f} %", 100 * row.regret_oracle), std::to_string(row.refused),
                 std::to_string(row.unanswered), number(row.latency_p50, 1e3), number(row.latency_p95, 1e3),
                 number(row.prompt_tokens, 1)});
    }
    say(table.text() +
        fmt::format("model {}; action set {}; ± is half of the 95 % interval; costs are simulated, latencies "
                    "measured",
                    model, loaded.actions.key()));
  }

  static Json result(const LabelledWindows& loaded, const std::string& model,
                     const std::vector<sim::AblationRow>& rows) {
    Json list = Json::array();
    for (const sim::AblationRow& row : rows) {
      list.push_back({{"unseen", row.unseen},
                      {"chooser", row.chooser},
                      {"demonstrations", row.demonstrations},
                      {"windows", row.windows},
                      {"accuracy", row.accuracy.mean},
                      {"accuracy_interval", row.accuracy.half_width},
                      {"regret_oracle", row.regret_oracle},
                      {"refused", row.refused},
                      {"unanswered", row.unanswered},
                      {"latency_p50", number_or_null(row.latency_p50)},
                      {"latency_p95", number_or_null(row.latency_p95)},
                      {"prompt_tokens", number_or_null(row.prompt_tokens)}});
    }
    return {{"model", model},
            {"action_set", loaded.actions.key()},
            {"windows", loaded.windows.size()},
            {"rows", std::move(list)}};
  }

  std::vector<int> demonstrations_ = {0, 1, 3, 5, 9};
  llm::ModelAddress agent_;
  sim::AblationOptions ablation_;
  ExperienceInput input_;
};

}  // namespace

std::unique_ptr<Command> make_steer_ablation() {
  return std::make_unique<SteerAblation>();
}

}  // namespace rudder::cli

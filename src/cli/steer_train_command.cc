// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/files.h"
#include "rudder/core/text.h"
#include "rudder/learn/model.h"
#include "rudder/report/progress.h"
#include "rudder/report/table.h"
#include "rudder/steer/classifier.h"

#include "cli/command.h"
#include "cli/experience_input.h"

namespace rudder::cli {
namespace {

/// What a kind scores; windows of graphs in `unseen` were not learned from.
struct Scored {
  std::string kind;
  std::filesystem::path file;
  steer::ClassifierScores train, runs;
  std::vector<std::pair<std::string, steer::ClassifierScores>> unseen;
};

class SteerTrain final : public Command {
 public:
  SteerTrain() {
    options().path("out", out_, "Folder for KIND.json of each kind; required");
    options().text("kinds", "LIST", kinds_, "lr, svm, mlp, rf, xgb");
    options().real("held-out-runs", classifier_.held_out_runs, 0, 0.99,
                   "Share of each graph's runs that is not learned from but scored");
    options().text("held-out-graphs", "LIST", held_out_,
                   "Graphs that are not learned from at all but scored. Default: each once, for its score "
                   "alone; what is written has learned from all graphs");
    input_.add_to(options());
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.footer(
        "Runs and graphs are never divided between what is learned from and what is scored. A scenario "
        "counts "
        "as a graph.");
  }

  Result<int> run(const Program&) override {
    RUDDER_TRY(parse());
    RUDDER_ASSIGN(const LabelledWindows loaded, input_.load("steer train"));
    RUDDER_TRY(make_directories(out_));
    const std::vector<std::string> kinds = split_list(kinds_);
    std::vector<Scored> scored;
    {
      report::Progress progress("steer train");
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        progress.update(static_cast<double>(i) / static_cast<double>(kinds.size()), kinds[i]);
        RUDDER_ASSIGN(Scored each, train(kinds[i], loaded));
        scored.push_back(std::move(each));
      }
    }
    if (json()) {
      print_json(result(loaded, scored));
    } else {
      say(table(loaded, scored));
    }
    return 0;
  }

 private:
  Status parse() {
    if (out_.empty()) {
      return Error{Errc::kInvalidArgument, "--out FOLDER is required"};
    }
    std::vector<std::string_view> known;
    for (const learn::ModelKind& kind : learn::model_kinds()) {
      known.push_back(kind.name);
    }
    for (const std::string& kind : split_list(kinds_)) {
      if (std::find(known.begin(), known.end(), kind) == known.end()) {
        return Error{Errc::kInvalidArgument,
                     fmt::format("--kinds: '{}' is not one of {}", printable(kind), fmt::join(known, ", "))};
      }
    }
    if (!held_out_.empty()) {
      classifier_.held_out_graphs = split_list(held_out_);
    }
    classifier_.seed = input_.seed();
    return {};
  }

  Result<Scored> train(const std::string& kind, const LabelledWindows& loaded) const {
    steer::ClassifierOptions options = classifier_;
    options.kind = kind;
    Scored scored;
    scored.kind = kind;
    scored.file = out_ / (kind + ".json");
    RUDDER_ASSIGN(const steer::TrainedClassifier trained,
                  steer::train_classifier(loaded.windows, loaded.actions, options));
    RUDDER_TRY(trained.classifier.save(scored.file));
    scored.train = trained.train;
    scored.runs = trained.held_out_runs;
    if (!options.held_out_graphs.empty()) {
      scored.unseen.emplace_back(held_out_, trained.held_out_graphs);
      return scored;
    }
    const std::vector<std::string> graphs = loaded.graphs();
    for (const std::string& graph : graphs) {
      if (graphs.size() == 1) {
        break;  // nothing would be left to learn from
      }
      options.held_out_graphs = {graph};
      RUDDER_ASSIGN(const steer::TrainedClassifier without,
                    steer::train_classifier(loaded.windows, loaded.actions, options));
      scored.unseen.emplace_back(graph, without.held_out_graphs);
    }
    return scored;
  }

  static std::size_t runs_of(const LabelledWindows& loaded) {
    std::set<std::pair<std::string, std::string>> runs;
    for (const steer::Experience& each : loaded.windows) {
      runs.emplace(each.graph, each.run);
    }
    return runs.size();
  }

  static std::string table(const LabelledWindows& loaded, const std::vector<Scored>& scored) {
    report::TextTable table(
        {"kind", "on", "windows", "right", "over oracle", "over best fixed", "best fixed"});
    const auto add = [&](const std::string& kind, const std::string& on,
                         const steer::ClassifierScores& scores) {
      if (scores.windows == 0) {
        return;
      }
      table.add({kind, on, std::to_string(scores.windows), fmt::format("{:.1f} %", 100 * scores.accuracy),
                 fmt::format("{:+.2f} %", 100 * scores.regret_oracle),
                 fmt::format("{:+.2f} %", 100 * scores.regret_best_fixed),
                 loaded.actions.actions[scores.best_fixed].name});
    };
    for (const Scored& each : scored) {
      add(each.kind, "what it learned from", each.train);
      add(each.kind, "unseen runs", each.runs);
      for (const auto& [graph, scores] : each.unseen) {
        add(each.kind, "unseen graph " + graph, scores);
      }
    }
    return table.text() +
           fmt::format(
               "{} windows of {} runs on {} graphs, action set {}; costs are simulated step time. "
               "Written: {}",
               loaded.windows.size(), runs_of(loaded), loaded.graphs().size(), loaded.actions.key(),
               files(scored));
  }

  static std::string files(const std::vector<Scored>& scored) {
    std::vector<std::string> names;
    for (const Scored& each : scored) {
      names.push_back(each.file.string());
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  static Json scores_json(const steer::ClassifierScores& scores, const steer::ActionSet& actions) {
    return {{"windows", scores.windows},
            {"accuracy", scores.accuracy},
            {"simulated_cost", scores.cost},
            {"oracle_cost", scores.oracle_cost},
            {"best_fixed", actions.actions[scores.best_fixed].name},
            {"best_fixed_cost", scores.best_fixed_cost},
            {"regret_oracle", scores.regret_oracle},
            {"regret_best_fixed", scores.regret_best_fixed}};
  }

  static Json result(const LabelledWindows& loaded, const std::vector<Scored>& scored) {
    Json object = {{"action_set", loaded.actions.key()},
                   {"windows", loaded.windows.size()},
                   {"runs", runs_of(loaded)},
                   {"graphs", loaded.graphs()},
                   {"classifiers", Json::array()}};
    for (const Scored& each : scored) {
      Json unseen = Json::array();
      for (const auto& [graph, scores] : each.unseen) {
        Json entry = {{"graph", graph}};
        entry.update(scores_json(scores, loaded.actions));
        unseen.push_back(std::move(entry));
      }
      object["classifiers"].push_back({{"kind", each.kind},
                                       {"file", each.file.string()},
                                       {"train", scores_json(each.train, loaded.actions)},
                                       {"held_out_runs", scores_json(each.runs, loaded.actions)},
                                       {"held_out_graphs", std::move(unseen)}});
    }
    return object;
  }

  std::filesystem::path out_;
  std::string kinds_ = "lr,svm,mlp,rf,xgb";
  std::string held_out_;
  steer::ClassifierOptions classifier_;
  ExperienceInput input_;
};

}  // namespace

std::unique_ptr<Command> make_steer_train() {
  return std::make_unique<SteerTrain>();
}

}  // namespace rudder::cli

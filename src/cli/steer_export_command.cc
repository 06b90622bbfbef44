// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/steer/chat_export.h"
#include "rudder/steer/classifier.h"

#include "cli/command.h"
#include "cli/experience_input.h"

namespace rudder::cli {
namespace {

class SteerExport final : public Command {
 public:
  SteerExport() {
    options().path("out", out_, "File of chats to write, one a line; required");
    options().path("test", test_, "File for the chats of held-out runs, which --out then lacks");
    options().real("held-out-runs", held_out_runs_, 0.01, 0.99,
                   "With --test: share of each graph's runs that goes there");
    options().integer<std::size_t>("demonstrations", chats_.demonstrations, 0, 64,
                                   "Labelled windows of other runs shown in each prompt");
    options().choice("language", chats_.prompt.language, {"en", "zh"}, "Of prompts");
    options().real("least-benefit", chats_.least_benefit, 0, 1000,
                   "Leave out windows whose next best action costs less than this share more");
    options().toggle("unseen-effects", chats_.unseen_effects,
                     "Also windows whose best action did not hold next: their answers expect nothing");
    options().toggle("metadata", metadata_, "Tell run, graph, window and costs beside each chat");
    input_.add_to(options());
    add_json_option();
  }

  Result<int> run(const Program&) override {
    if (out_.empty()) {
      return Error{Errc::kInvalidArgument, "--out FILE is required"};
    }
    RUDDER_ASSIGN(const LabelledWindows loaded, input_.load("steer export"));
    std::vector<steer::Experience> train = loaded.windows;
    std::vector<steer::Experience> held_out;
    if (!test_.empty()) {
      RUDDER_ASSIGN(
          const steer::Split split,
          steer::split_of(loaded.windows, {.seed = input_.seed(), .held_out_runs = held_out_runs_}));
      train = chosen(loaded.windows, split.train);
      held_out = chosen(loaded.windows, split.held_out_runs);
    }
    RUDDER_ASSIGN(const steer::ChatExport trained, write(train, train, loaded.actions, out_));
    steer::ChatExport tested;
    if (!test_.empty()) {
      RUDDER_ASSIGN(tested, write(held_out, train, loaded.actions, test_));
    }
    print(loaded, trained, tested);
    return 0;
  }

 private:
  static std::vector<steer::Experience> chosen(const std::vector<steer::Experience>& all,
                                               const std::vector<std::size_t>& which) {
    std::vector<steer::Experience> some;
    for (const std::size_t i : which) {
      some.push_back(all[i]);
    }
    return some;
  }

  [[nodiscard]] Result<steer::ChatExport> write(const std::vector<steer::Experience>& windows,
                                                const std::vector<steer::Experience>& shown,
                                                const steer::ActionSet& actions,
                                                const std::filesystem::path& path) const {
    RUDDER_ASSIGN(steer::ChatExport chats, steer::export_chats(windows, shown, actions, chats_));
    RUDDER_ASSIGN(AtomicFile file, AtomicFile::create(path));
    for (const steer::ChatExample& example : chats.examples) {
      const steer::Experience* const window = metadata_ ? &windows[example.window] : nullptr;
      RUDDER_TRY(file.write(steer::json_of(example, window, actions) + "\n"));
    }
    RUDDER_TRY(file.commit());
    return chats;
  }

  void print(const LabelledWindows& loaded, const steer::ChatExport& trained,
             const steer::ChatExport& tested) const {
    const std::uint64_t unseen = trained.unseen_effects + tested.unseen_effects;
    const std::uint64_t little = trained.too_little_benefit + tested.too_little_benefit;
    std::vector<std::uint64_t> best(loaded.actions.actions.size());
    for (const steer::ChatExample& example : trained.examples) {
      ++best[answer_of(example, loaded.actions)];
    }
    Json answers = Json::object();
    for (std::size_t action = 0; action < best.size(); ++action) {
      answers[loaded.actions.actions[action].name] = best[action];
    }
    if (json()) {
      print_json({{"action_set", loaded.actions.key()},
                  {"prompt_version", steer::kPromptVersion},
                  {"windows", loaded.windows.size()},
                  {"chats", trained.examples.size()},
                  {"test_chats", tested.examples.size()},
                  {"answers", answers},
                  {"left_out", {{"unseen_effect", unseen}, {"too_little_benefit", little}}}});
      return;
    }
    say(
        fmt::format("{} chats to {}{}; of {} windows {} were left out because their best action did not hold "
                    "next, {} because it matters too little; answers: {}",
                    trained.examples.size(), out_.string(),
                    test_.empty() ? "" : fmt::format(", {} to {}", tested.examples.size(), test_.string()),
                    loaded.windows.size(), unseen, little, answers.dump()));
  }

  /// By what the assistant says last.
  static std::size_t answer_of(const steer::ChatExample& example, const steer::ActionSet& actions) {
    const auto parsed = steer::parse_reply(example.messages.back().content, actions);
    RUDDER_CHECK(parsed.ok(), "an exported answer is one that a model may give");
    return parsed->action;
  }

  std::filesystem::path out_, test_;
  double held_out_runs_ = 0.25;
  bool metadata_ = false;
  steer::ChatExportOptions chats_;
  ExperienceInput input_;
};

}  // namespace

std::unique_ptr<Command> make_steer_export() {
  return std::make_unique<SteerExport>();
}

}  // namespace rudder::cli

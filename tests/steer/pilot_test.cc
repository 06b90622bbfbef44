// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/pilot.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"

#include "steer/live_run.h"

namespace rudder::steer {
namespace {

using ::testing::HasSubstr;
using testing_support::decision_on;
using testing_support::FunctionDecider;
using testing_support::kPatience;
using testing_support::live_action_sets;
using testing_support::LiveRun;
using testing_support::LiveWorld;
using testing_support::make_pilot;
using testing_support::pilot_options;
using testing_support::random_choice;
using testing_support::Steered;

constexpr std::uint32_t kWindow = 6;

/// Trains `depth` batches behind the planner; at each border the steering may catch up or not, by `patient`.
void run_to_end(LiveRun& run, const Steered& steered, std::size_t depth, bool patient) {
  while (run.trained() < run.steps()) {
    while (run.planned() < run.steps() && run.planned() < run.trained() + depth) {
      run.plan();
    }
    run.train();
    if (patient && run.trained() % kWindow == 0) {
      ASSERT_TRUE(steered.settlements->wait_for(run.trained() / kWindow));
    }
  }
}

TEST(Pilot, ReplaysEveryWindowToTheRowUnderRandomActions) {
  for (const ActionSet& actions : live_action_sets()) {
    std::uint64_t changes = 0;
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
      SCOPED_TRACE(::testing::Message() << actions.name << " seed " << seed);
      const LiveWorld world(seed, 97);  // a window is left over
      PilotOptions options = pilot_options(world, kWindow);
      options.horizon = 1 + seed % 3;
      const Steered steered = make_pilot(options, actions, random_choice(seed, actions.actions.size()));
      LiveRun run(world, *steered.pilot);
      run_to_end(run, steered, 1 + seed % 4, seed % 2 == 0);
      steered.pilot->finish(kPatience);
      const PilotTotals& totals = steered.pilot->totals();
      EXPECT_EQ(totals.mismatches, 0U) << totals.first_mismatch;
      EXPECT_EQ(totals.windows, world.scene.batches.size() / kWindow);
      EXPECT_EQ(totals.dropped, 0U);
      EXPECT_EQ(totals.replayed, totals.windows + 1);
      EXPECT_EQ(totals.controller.windows, totals.windows);
      changes += totals.changes;
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(changes, 50U);
  }
}

TEST(Pilot, ChangesSettingsAtBordersOnly) {
  const ActionSet actions = live_action_sets()[1];
  const LiveWorld world(3);
  const Steered steered =
      make_pilot(pilot_options(world, kWindow), actions, random_choice(3, actions.actions.size()));
  LiveRun run(world, *steered.pilot);
  run_to_end(run, steered, 4, true);
  std::size_t changes = 0;
  for (const LiveRun::Answer& answer : run.answers) {
    if (answer.steer) {
      EXPECT_EQ(answer.step % kWindow, 0U);
      ++changes;
    }
  }
  EXPECT_GT(changes, 3U);
  EXPECT_EQ(run.answers.size(), world.scene.batches.size());
}

/// Whatever is decided comes after the last border when all is planned before anything is trained on.
TEST(Pilot, CountsWhatWasSettledTooLateToHold) {
  const LiveWorld world(4);
  const Steered steered = make_pilot(pilot_options(world, kWindow), replace_actions(),
                                     [](const Window& window) { return decision_on(window, 1); });
  LiveRun run(world, *steered.pilot);
  run_to_end(run, steered, run.steps(), true);
  steered.pilot->finish(kPatience);
  const PilotTotals& totals = steered.pilot->totals();
  EXPECT_GT(totals.controller.applied, 0U);
  EXPECT_EQ(totals.late, totals.windows);
  EXPECT_EQ(totals.overtaken, 0U);
  EXPECT_EQ(totals.changes, 0U);
}

TEST(Pilot, SaysWhatWindowsWereAndWhatEachActionWouldHaveCost) {
  const LiveWorld world(5);
  const Steered steered = make_pilot(pilot_options(world, kWindow), replace_actions(), random_choice(5, 2));
  LiveRun run(world, *steered.pilot);
  run_to_end(run, steered, 3, true);
  steered.pilot->finish(kPatience);
  cache::Counts counted;
  StepId end = 0;
  for (const LabelledWindow& heard : steered.decider->heard()) {
    EXPECT_EQ(heard.window.first, end);
    end = heard.window.end;
    EXPECT_EQ(heard.window.sequence, heard.window.first / kWindow);
    EXPECT_EQ(heard.costs.size(), 2U);
    EXPECT_DOUBLE_EQ(heard.window.compute_seconds, 0.01 * kWindow);
    EXPECT_EQ(heard.window.wire_bytes, 20 * heard.window.counts.fetched);
    counted += heard.window.counts;
  }
  EXPECT_EQ(end, world.scene.batches.size());
  EXPECT_EQ(counted, run.counts);
}

/// The planner's thread waits at borders, so it is one of its own here.
TEST(Pilot, ASynchronousPlannerWaitsForTheDecisionOnTheWindowBefore) {
  const LiveWorld world(7);
  PilotOptions options = pilot_options(world, kWindow);
  options.synchronous = true;
  const Steered steered =
      make_pilot(options, replace_actions(), [](const Window& window) -> Result<Decision> {
        return decision_on(window, window.sequence % 3 == 0 ? 1 : 0);
      });
  LiveRun run(world, *steered.pilot);
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t planned = 0;
  std::thread planner([&] {
    for (std::size_t step = 0; step < world.scene.batches.size(); ++step) {
      run.plan();
      const std::lock_guard lock(mutex);
      ++planned;
      changed.notify_all();
    }
  });
  for (std::size_t step = 0; step < world.scene.batches.size(); ++step) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kPatience, [&] { return planned > step; }));
    run.train();
  }
  planner.join();
  steered.pilot->finish(kPatience);
  EXPECT_EQ(steered.pilot->totals().overtaken, 0U);
  EXPECT_EQ(steered.pilot->totals().late, 1U);  // on the last window
  for (const LiveRun::Answer& answer : run.answers) {
    const std::uint64_t window = answer.step / kWindow;
    const bool border = answer.step % kWindow == 0;
    EXPECT_EQ(answer.steer && answer.steer->replace, border && window > 0 && (window - 1) % 3 == 0)
        << "step " << answer.step;
  }
  const PilotTotals& totals = steered.pilot->totals();
  EXPECT_EQ(totals.mismatches, 0U) << totals.first_mismatch;
  EXPECT_EQ(totals.waits, world.scene.batches.size() / kWindow - 1);
  EXPECT_EQ(totals.overdue, 0U);
  EXPECT_GT(totals.wait_seconds, 0);
}

/// Blocks whoever adds until it is let go.
class StuckMemory final : public Memory {
 public:
  [[nodiscard]] Status add(const Experience& /*experience*/) override {
    std::unique_lock lock(mutex_);
    ++callers_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    return {};
  }
  [[nodiscard]] Result<std::vector<Experience>> nearest(const ActionSet& /*actions*/,
                                                        const Features& /*features*/, std::size_t /*k*/,
                                                        const std::string& /*except*/) const override {
    return std::vector<Experience>();
  }
  [[nodiscard]] Result<std::vector<Experience>> all(const ActionSet& /*actions*/,
                                                    const std::string& /*graph*/) const override {
    return std::vector<Experience>();
  }
  [[nodiscard]] bool wait_for_a_caller() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return callers_ > 0; });
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t callers_ = 0;
  bool open_ = false;
};

TEST(Pilot, DropsWindowsWhenItCannotKeepUpAndIsExactAgainAfterwards) {
  for (const ActionSet& actions : live_action_sets()) {
    for (const bool by_bytes : {false, true}) {
      SCOPED_TRACE(::testing::Message() << actions.name << (by_bytes ? " by bytes" : " by windows"));
      const LiveWorld world(11, 3000);
      PilotOptions options = pilot_options(world, kWindow);
      options.backlog = by_bytes ? 256 : 2;
      options.backlog_bytes = by_bytes ? 20'000 : options.backlog_bytes;
      auto memory = std::make_unique<StuckMemory>();
      StuckMemory& stuck = *memory;
      const Steered steered =
          make_pilot(options, actions, random_choice(11, actions.actions.size()), std::move(memory));
      LiveRun run(world, *steered.pilot);
      bool caught_up = false;
      while (run.trained() < run.steps()) {
        while (run.planned() < run.steps() && run.planned() < run.trained() + 4) {
          run.plan();
        }
        run.train();
        if (run.trained() == 4 * kWindow) {
          ASSERT_TRUE(stuck.wait_for_a_caller());
        }
        if (run.trained() == 1500) {
          stuck.let_go();
        }
        if (run.trained() > 1500 && run.trained() % kWindow == 0 && !caught_up) {
          // The backlog has been worked off as soon as there is another window that ended after it. On a busy
          // machine the steering thread needs to be left some time for that.
          const Deadline pause = Deadline::in(std::chrono::milliseconds(20));
          while (!caught_up && !pause.passed()) {
            std::this_thread::yield();
            caught_up =
                !steered.decider->heard().empty() && steered.decider->heard().back().window.first > 1500;
          }
        }
      }
      steered.pilot->finish(kPatience);
      const PilotTotals& totals = steered.pilot->totals();
      EXPECT_GT(totals.dropped, 100U);
      EXPECT_GE(totals.resumed, 1U);
      EXPECT_EQ(totals.mismatches, 0U) << totals.first_mismatch;
      EXPECT_EQ(totals.windows, totals.dropped + totals.controller.windows);
      EXPECT_LE(totals.windows, 3000 / kWindow);
      const auto heard = steered.decider->heard();
      ASSERT_FALSE(heard.empty());
      EXPECT_GT(heard.back().window.first, 1500U);
      for (const LabelledWindow& one : heard) {
        EXPECT_EQ(one.window.end - one.window.first, kWindow);
        EXPECT_EQ(one.window.first, one.window.sequence * kWindow);
      }
    }
  }
}

/// A model whose calls end when it is stopped.
class EndlessModel final : public llm::Model {
 public:
  Result<llm::ChatReply> complete(const llm::ChatRequest& /*request*/) override {
    std::unique_lock lock(mutex_);
    called_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return stopped_; });
    return Error{Errc::kCancelled, "stopped"};
  }
  void stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  std::string name() const override { return "endless"; }
  [[nodiscard]] bool wait_for_a_call() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return called_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool called_ = false, stopped_ = false;
};

TEST(Pilot, ARunGoesOnUnderTheFallbackWhileAModelNeverAnswers) {
  const LiveWorld world(13);
  auto model = std::make_unique<EndlessModel>();
  EndlessModel& endless = *model;
  const Steered steered = make_pilot(
      pilot_options(world, kWindow), replace_actions(),
      [&endless](const Window&) -> Result<Decision> { return endless.complete({}).error(); }, nullptr,
      std::move(model));
  LiveRun run(world, *steered.pilot);
  while (run.trained() < run.steps()) {
    while (run.planned() < run.steps() && run.planned() < run.trained() + 4) {
      run.plan();
    }
    run.train();
    if (run.trained() == 3 * kWindow) {
      ASSERT_TRUE(endless.wait_for_a_call());
    }
  }
  steered.pilot->finish(kPatience);  // breaks the call off
  const PilotTotals& totals = steered.pilot->totals();
  EXPECT_EQ(totals.mismatches, 0U) << totals.first_mismatch;
  EXPECT_EQ(totals.controller.windows, world.scene.batches.size() / kWindow);
  EXPECT_GT(totals.controller.verdicts[static_cast<std::size_t>(Verdict::kNoAnswer)], 0U);
  EXPECT_EQ(totals.changes, 0U);
}

TEST(Pilot, AWaitingPlannerIsLetGoWhenThePilotStops) {
  const LiveWorld world(17);
  PilotOptions options = pilot_options(world, kWindow);
  options.synchronous = true;
  const Steered steered = make_pilot(options, replace_actions(), random_choice(17, 2));
  LiveRun run(world, *steered.pilot);
  std::atomic<std::size_t> planned{0};
  std::thread planner([&] {
    for (std::size_t step = 0; step <= kWindow; ++step) {
      run.plan();
      ++planned;
    }
  });
  while (planned < kWindow) {
    std::this_thread::yield();
  }
  steered.pilot->stop();  // no batch was trained on, so the border would be waited at for a minute
  planner.join();
  EXPECT_EQ(planned, kWindow + 1);
}

TEST(Pilot, EndsWithoutAnyBatchAndInTheMiddleOfARun) {
  const LiveWorld world(19);
  for (const std::size_t steps : {0U, 1U, 7U, 50U}) {
    const Steered steered = make_pilot(pilot_options(world, kWindow), replace_actions(), random_choice(1, 2));
    LiveRun run(world, *steered.pilot);
    for (std::size_t step = 0; step < steps; ++step) {
      run.plan();
      run.train();
    }
    if (steps == 7) {
      steered.pilot->finish(kPatience);
      EXPECT_EQ(steered.pilot->totals().windows, 1U);
    }
  }
}

TEST(Pilot, NotesEachSettlementAsALineOfJson) {
  const TemporaryDirectory folder = TemporaryDirectory::create("rudder-pilot").value();
  const std::filesystem::path path = folder.path() / "decisions.jsonl";
  const LiveWorld world(23);
  PilotOptions options = pilot_options(world, kWindow);
  options.log = path;
  const Steered steered =
      make_pilot(options, replace_actions(), [](const Window& window) -> Result<Decision> {
        Decision decision = decision_on(window, 1);
        decision.reason = "because \"of\" \xff";
        return decision;
      });
  LiveRun run(world, *steered.pilot);
  run_to_end(run, steered, 4, true);
  steered.pilot->finish(kPatience);
  std::ifstream file(path);
  std::uint64_t window = 0;
  for (std::string line; std::getline(file, line); ++window) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.at("sequence"), window);
    EXPECT_EQ(json.at("step"), (window + 1) * kWindow);
    EXPECT_EQ(json.at("applied"), "replace");
    EXPECT_EQ(json.at("held"), window < 2 ? "skip" : "replace");
    EXPECT_THAT(json.at("decision").at("reason").get<std::string>(), HasSubstr("because"));
    EXPECT_GT(json.at("seconds"), 0);
  }
  EXPECT_EQ(window, world.scene.batches.size() / kWindow);
}

TEST(Pilot, RefusesWhatALiveBufferCannotDo) {
  const LiveWorld world(29);
  PilotCrew crew;
  crew.actions = std::make_unique<const ActionSet>(knob_actions({{"lru"}, {4, 16}, {0}, {1}}).value());
  crew.decider = std::make_unique<FunctionDecider>(random_choice(1, 2));
  const auto deep = Pilot::create(pilot_options(world, kWindow), std::move(crew));
  ASSERT_FALSE(deep.ok());
  EXPECT_THAT(deep.error().message, HasSubstr("depth16"));
  const Steered steered =
      make_pilot(pilot_options(world, kWindow), knob_actions({{"lru", "degree"}, {4}, {0}, {1}}).value(),
                 random_choice(1, 2));
  const auto context = world.context();
  const cache::SteerTerms terms = steered.pilot->terms(LiveWorld::kSlots, world.settings);
  const cache::Planner planner(
      cache::make_steered(*context, terms.settings, terms.first, steered.pilot.get()), LiveWorld::kSlots, 1);
  const Status begun = steered.pilot->begin(planner, context);
  ASSERT_FALSE(begun.ok());
  EXPECT_THAT(begun.error().message, HasSubstr("degree"));
}

}  // namespace
}  // namespace rudder::steer

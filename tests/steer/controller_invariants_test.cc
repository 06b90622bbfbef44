// SPDX-License-Identifier: Apache-2.0
// A decider that does anything at all, at any time.
#include <deque>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/rng.h"
#include "rudder/steer/controller.h"

#include "steer/scripted.h"
#include "steer/windows.h"

namespace rudder::steer {
namespace {

using State = Breaker::State;
using testing_support::letters;
using testing_support::Scripted;

/// Answers with anything: late, twice, never, on other windows, with actions that are none.
void answer_anyhow(Scripted& run, std::deque<std::uint64_t>& open, CounterRng& rng) {
  for (std::uint64_t n = rng.below(3); n > 0; --n) {
    if (rng.below(5) == 0) {
      run.fail();
      continue;
    }
    Decision decision;
    decision.sequence = open.empty() || rng.below(4) == 0 ? rng.below(run.windows + 3) : open.front();
    if (!open.empty() && rng.below(2) == 0) {
      open.pop_front();
    }
    decision.action = rng.below(10) == 0 ? rng() : rng.below(run.actions.actions.size());
    decision.confidence = rng.unit();
    decision.valid_reply = rng.below(10) != 0;
    decision.from_model = rng.below(2) == 0;
    decision.expected = Expected{static_cast<Direction>(rng.below(3)), static_cast<Direction>(rng.below(3))};
    run.controller.answered(decision, run.now());
  }
}

ControllerOptions random_options(CounterRng& rng) {
  constexpr const char* kTriggers[] = {"windows", "time", "shift"};
  ControllerOptions options;
  options.trigger.by = kTriggers[rng.below(3)];
  options.trigger.every = static_cast<std::uint32_t>(1 + rng.below(3));
  options.guard = {
      .stale_after = rng.below(5), .least_confidence = 0.1, .tolerated_excess = 0.3 * rng.unit()};
  options.breaker = {.failures = static_cast<std::uint32_t>(1 + rng.below(4)),
                     .dropped = static_cast<std::uint32_t>(1 + rng.below(6)),
                     .rest = from_seconds(1 + 5 * rng.unit())};
  options.evaluator_half_life = 0.2 + 3 * rng.unit();
  options.cache_size = rng.below(4);
  options.cache_similarity = 0.99;
  options.run = options.graph = "x";
  return options;
}

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed)
      : rng_({seed}),
        replacing_(rng_.below(3) == 0),
        cool_down_(static_cast<std::uint32_t>(rng_.below(4))),
        options_(random_options(rng_)),
        run_(set(), options_, std::vector<double>(set().actions.size(), 1.0)) {}

  void go() {
    for (int i = 0; i < 300; ++i) {
      if (rng_.below(8) == 0) {
        for (double& cost : run_.costs) {
          cost = 1 + rng_.unit();
        }
      }
      if (run_.window(rng_.below(101))) {
        open_.push_back(run_.last());
        if (breaker_state() != State::kClosed) {
          EXPECT_EQ(breaker_state(), State::kHalfOpen);  // a probe
        }
      }
      answer_anyhow(run_, open_, rng_);
      if (rng_.below(10) != 0) {  // borders may be missed
        check_settled();
      }
    }
    check_totals();
  }

 private:
  ActionSet set() const {
    ActionSet actions = replacing_ ? replace_actions() : letters(4);
    actions.cool_down = cool_down_;
    return actions;
  }
  State breaker_state() const { return run_.controller.breaker().state(); }

  void check_settled() {
    const DecisionRecord record = run_.settle();
    const Evaluator& evaluator = run_.controller.evaluator();
    ASSERT_LT(record.applied, run_.actions.actions.size());
    EXPECT_EQ(record.applied, run_.controller.action());
    // What holds never costs more than the best known and what is tolerated, whatever the decider says.
    EXPECT_LE(*evaluator.excess(record.applied), options_.guard.tolerated_excess);
    if (record.verdict == Verdict::kApplied) {
      EXPECT_EQ(record.applied, record.decision->action);
      EXPECT_LE(record.staleness, options_.guard.stale_after);
      EXPECT_GE(record.decision->confidence, options_.guard.least_confidence);
      EXPECT_TRUE(record.decision->valid_reply);
    }
    EXPECT_FALSE(json_of(record, run_.actions).empty());
    ++settled_;
  }

  void check_totals() {
    run_.controller.finish();
    const ControllerTotals& totals = run_.controller.totals();
    EXPECT_EQ(totals.windows, 300U);
    std::uint64_t verdicts = 0;
    for (const std::uint64_t count : totals.verdicts) {
      verdicts += count;
    }
    EXPECT_EQ(verdicts, settled_);
    EXPECT_EQ(totals.verdicts[static_cast<std::size_t>(Verdict::kApplied)], totals.applied);
    EXPECT_LE(totals.applied + totals.dropped, totals.decisions);
    EXPECT_LE(totals.right_directions, totals.predictions);
    EXPECT_LE(totals.valid_replies, totals.model_calls);
    EXPECT_EQ(totals.memory_errors, 0U);
    // Every window is remembered once.
    std::vector<std::uint64_t> sequences;
    for (const Experience& experience : run_.memory.kept) {
      sequences.push_back(experience.sequence);
    }
    std::sort(sequences.begin(), sequences.end());
    ASSERT_EQ(sequences.size(), 300U);
    for (std::uint64_t i = 0; i < 300; ++i) {
      EXPECT_EQ(sequences[i], i);
    }
  }

  CounterRng rng_;
  bool replacing_;
  std::uint32_t cool_down_;
  ControllerOptions options_;
  Scripted run_;
  std::deque<std::uint64_t> open_;
  std::uint64_t settled_ = 0;
};

TEST(ControllerInvariants, HoldForADeciderThatDoesAnythingAtAll) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun(seed).go();
    if (HasFatalFailure() || HasNonfatalFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace rudder::steer

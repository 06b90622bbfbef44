// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/decision_log.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/steer/controller.h"

namespace rudder::steer {
namespace {

using testing::HasSubstr;

class DecisionLog : public ::testing::Test {
 protected:
  Result<std::vector<LoggedDecision>> read(const std::string& text) {
    EXPECT_TRUE(write_text(path_, text).ok());
    return read_decisions(path_, actions_);
  }
  std::string refusal(const std::string& text) {
    const auto log = read(text);
    return log.ok() ? "accepted" : log.error().message;
  }
  /// A line about window 1 with these members besides.
  static std::string line(const std::string& members) {
    return R"({"sequence": 1, "applied": "skip", )" + members + "}\n";
  }
  Experience window(std::uint64_t sequence, double skip, double replace) const {
    Experience each;
    each.run = "run";
    each.sequence = sequence;
    each.costs = {skip, replace};
    each.best = replace < skip ? 1 : 0;
    return each;
  }

  ActionSet actions_ = replace_actions();
  TemporaryDirectory folder_ = TemporaryDirectory::create("rudder-log").value();
  std::filesystem::path path_ = folder_.path() / "decisions.jsonl";
};

TEST_F(DecisionLog, ReadsWhatTheControllerWrites) {
  CounterRng rng({4, 2});
  std::vector<DecisionRecord> records;
  std::string text;
  for (std::uint64_t i = 0; i < 200; ++i) {
    DecisionRecord record;
    record.sequence = 3 * i + rng.below(3);
    record.verdict = static_cast<Verdict>(rng.below(kVerdicts));
    record.applied = rng.below(2);
    record.staleness = rng.below(5);
    record.from_cache = rng.below(2) == 0;
    record.why = rng.below(2) == 0 ? "" : "nobody at \"there\"";
    if (rng.below(3) > 0) {
      record.decision = Decision{.sequence = record.sequence - rng.below(1 + std::min<std::uint64_t>(3, i)),
                                 .action = rng.below(2),
                                 .confidence = rng.unit(),
                                 .reason = "line\nand \"quotes\"",
                                 .seconds = 10 * rng.unit(),
                                 .from_model = rng.below(2) == 0,
                                 .valid_reply = rng.below(2) == 0};
      if (rng.below(2) == 0) {
        record.decision->expected = Expected{static_cast<Direction>(rng.below(3)), Direction::kIncrease};
      }
    }
    text += json_of(record, actions_) + "\n";
    records.push_back(record);
  }
  const auto log = read(text + R"({"sequence": 9999, "appl)");
  ASSERT_TRUE(log.ok()) << log.error().message;
  ASSERT_EQ(log->size(), records.size());
  for (std::size_t i = 0; i < log->size(); ++i) {
    const LoggedDecision& logged = (*log)[i];
    EXPECT_EQ(logged.sequence, records[i].sequence);
    EXPECT_EQ(logged.verdict, records[i].verdict);
    EXPECT_EQ(logged.applied, records[i].applied);
    EXPECT_EQ(logged.staleness, records[i].staleness);
    EXPECT_EQ(logged.from_cache, records[i].from_cache);
    EXPECT_EQ(logged.why, records[i].why);
    ASSERT_EQ(logged.decision.has_value(), records[i].decision.has_value());
    if (logged.decision) {
      Decision expected = *records[i].decision;
      expected.reason = logged.decision->reason;
      EXPECT_EQ(*logged.decision, expected);
      EXPECT_EQ(logged.decision->reason.find('\n'), std::string::npos);
    }
  }
}

TEST_F(DecisionLog, RefusesWhatIsNoLogAndNamesTheLine) {
  const std::string good = "{\"sequence\": 0, \"applied\": \"skip\"}\n";
  EXPECT_THAT(refusal(good + line(R"("verdict": "maybe")")), HasSubstr("line 2: 'maybe' is no verdict"));
  EXPECT_THAT(refusal(line(R"("verdict": 3)")), HasSubstr("line 1: 'verdict' is no name"));
  EXPECT_THAT(refusal(line(R"("staleness": -1)")), HasSubstr("'staleness' is not a whole number"));
  EXPECT_THAT(refusal(line(R"("from_cache": "yes")")), HasSubstr("'from_cache' is neither"));
  EXPECT_THAT(refusal(line(R"("decision": 1)")), HasSubstr("'decision' is not an object"));
  EXPECT_THAT(refusal(line(R"("decision": {"action": "replcae"})")), HasSubstr("did you mean 'replace'?"));
  EXPECT_THAT(refusal(line(R"("decision": {"action": 7})")), HasSubstr("is no name"));
  EXPECT_THAT(refusal(line(R"("decision": {"confidence": 1.5})")), HasSubstr("'confidence' is not a number"));
  EXPECT_THAT(refusal(line(R"("decision": {"seconds": -3})")), HasSubstr("'seconds' is not a number"));
  EXPECT_THAT(refusal(line(R"("decision": {"seconds": 1e999})")), HasSubstr("line 1"));
  EXPECT_THAT(refusal(line(R"("decision": {"expected": {"hits": "up"}})")), HasSubstr("'expected'"));
  EXPECT_THAT(refusal(good + good), HasSubstr("window 0 comes after window 0"));
  EXPECT_THAT(refusal("\xff\xfe\n"), HasSubstr("line 1: not a decision"));
  EXPECT_FALSE(read_decisions(folder_.path() / "absent", actions_).ok());
}

TEST_F(DecisionLog, NestingTakesNoStack) {
  const std::string deep(1'000'000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');
  EXPECT_THAT(refusal(line("\"verdict\": " + closed)), HasSubstr("'verdict' is no name"));
  EXPECT_THAT(refusal(line("\"decision\": " + closed)), HasSubstr("'decision' is not an object"));
  EXPECT_TRUE(read(line("\"another\": " + closed)).ok());
  EXPECT_THAT(refusal(line("\"another\": " + deep)), HasSubstr("not a decision"));
}

TEST_F(DecisionLog, AnActionThatTheLineDoesNotNameIsNoneOfTheSet) {
  const auto log = read(line(R"("decision": {"sequence": 1, "action": null, "confidence": null})"));
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->front().decision->action, kMaxActions);
  const std::vector<Experience> run = {window(2, 1, 2)};
  const auto costs = costs_of(*log, run, actions_);
  ASSERT_TRUE(costs.front().has_value());
  EXPECT_FALSE(costs.front()->decided.has_value());
}

TEST_F(DecisionLog, CostsAreOfTheWindowBehind) {
  const auto log = read(
      R"({"sequence": 4, "verdict": "negative_benefit", "applied": "skip", "decision": {"sequence": 3, "action": "replace"}, "staleness": 1})"
      "\n"
      R"({"sequence": 5, "verdict": "no_trigger", "applied": "skip"})"
      "\n"
      R"({"sequence": 18446744073709551615, "verdict": "pending", "applied": "replace"})"
      "\n");
  ASSERT_TRUE(log.ok()) << log.error().message;
  const std::vector<Experience> run = {window(0, 7, 7), window(4, 9, 9), window(5, 2, 3), window(6, 8, 5)};
  const auto costs = costs_of(*log, run, actions_);
  ASSERT_EQ(costs.size(), 3U);
  EXPECT_EQ(costs[0]->applied, 2);
  EXPECT_EQ(costs[0]->decided, 3);
  EXPECT_EQ(costs[0]->best, 2);
  EXPECT_EQ(costs[1]->applied, 8);
  EXPECT_EQ(costs[1]->best, 5);
  EXPECT_EQ(costs[1]->fallback, 8);
  EXPECT_FALSE(costs[2].has_value()) << "no window is behind the last number";

  const LogSummary summary = summarize(*log, costs);
  EXPECT_EQ(summary.windows, 3U);
  EXPECT_EQ(summary.verdicts[static_cast<std::size_t>(Verdict::kNegativeBenefit)], 1U);
  EXPECT_EQ(summary.decisions, 1U);
  EXPECT_EQ(summary.most_stale, 1U);
  EXPECT_EQ(summary.labelled, 2U);
  EXPECT_EQ(summary.right, 1U);
  EXPECT_EQ(summary.applied_cost, 10);
  EXPECT_EQ(summary.best_cost, 7);
  EXPECT_EQ(summary.labelled_decisions, 1U);
  EXPECT_EQ(summary.right_decisions, 0U);
  EXPECT_EQ(summary.decided_cost, 3);
  EXPECT_EQ(summary.cost_behind_decisions, 2);
}

TEST_F(DecisionLog, ADecisionThatIsWithdrawnLaterCountsOnce) {
  const auto log = read(
      R"({"sequence": 1, "verdict": "applied", "applied": "replace", "decision": {"sequence": 1, "action": "replace", "seconds": 2, "from_model": true}})"
      "\n"
      R"({"sequence": 2, "verdict": "negative_benefit", "applied": "skip", "decision": {"sequence": 1, "action": "replace", "seconds": 2, "from_model": true}, "staleness": 1})"
      "\n");
  ASSERT_TRUE(log.ok()) << log.error().message;
  const LogSummary summary = summarize(*log, costs_of(*log, {}, actions_));
  EXPECT_EQ(summary.decisions, 1U);
  EXPECT_EQ(summary.model_calls, 1U);
  EXPECT_EQ(summary.valid_replies, 1U);
  EXPECT_EQ(summary.latencies, std::vector<double>{2});
  EXPECT_EQ(summary.staleness_windows, 0U);
}

}  // namespace
}  // namespace rudder::steer

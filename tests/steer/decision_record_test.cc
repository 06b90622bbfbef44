// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/core/rng.h"
#include "rudder/steer/controller.h"

#include "steer/windows.h"

namespace rudder::steer {
namespace {

TEST(DecisionRecordJson, SaysWhatWasDecidedAndWhatBecameOfIt) {
  DecisionRecord record;
  record.sequence = 9;
  record.verdict = Verdict::kApplied;
  record.decision = Decision{.sequence = 8,
                             .action = 1,
                             .confidence = 0.75,
                             .reason = "hits fall",
                             .expected = Expected{Direction::kIncrease, Direction::kStagnant},
                             .seconds = 0.5,
                             .from_model = true};
  record.applied = 1;
  record.staleness = 1;
  EXPECT_EQ(json_of(record, replace_actions()),
            R"({"sequence":9,"verdict":"applied","applied":"replace","staleness":1,"from_cache":false,)"
            R"("decision":{"sequence":8,"action":"replace","confidence":0.75,"reason":"hits fall",)"
            R"("expected":{"hits":"increase","traffic":"stagnant"},"seconds":0.5,"from_model":true,)"
            R"("valid_reply":true}})");
}

TEST(DecisionRecordJson, WithoutADecisionHasNone) {
  EXPECT_EQ(json_of(DecisionRecord{}, replace_actions()),
            R"({"sequence":0,"verdict":"no_trigger","applied":"skip","staleness":0,"from_cache":false})");
}

TEST(DecisionRecordJson, HasNullForAnActionThatIsNone) {
  DecisionRecord record;
  record.verdict = Verdict::kUnknownAction;
  record.decision = Decision{.action = 17, .confidence = std::numeric_limits<double>::quiet_NaN()};
  const nlohmann::json json = nlohmann::json::parse(json_of(record, replace_actions()));
  EXPECT_TRUE(json["decision"]["action"].is_null());
  EXPECT_TRUE(json["decision"]["confidence"].is_null());
  EXPECT_TRUE(json["decision"]["expected"].is_null());
}

TEST(DecisionRecordJson, IsOneLineOfJsonWhateverTheModelWrote) {
  CounterRng rng({1});
  for (int i = 0; i < 3000; ++i) {
    DecisionRecord record;
    record.decision = Decision{.reason = testing_support::random_bytes(rng, 200)};
    const std::string line = json_of(record, replace_actions());
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << line;  // the parser refuses broken UTF-8
    EXPECT_TRUE(json["decision"]["reason"].is_string());
  }
}

}  // namespace
}  // namespace rudder::steer

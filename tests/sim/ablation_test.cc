// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/ablation.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Says what the last demonstration says, else skip.
class Echo final : public llm::Model {
 public:
  Result<llm::ChatReply> complete(const llm::ChatRequest& request) override {
    ++calls;
    if (fails) {
      return Error{Errc::kPeer, "gone"};
    }
    std::size_t demonstrations = 0;
    std::string said = R"({"decision": "skip"})";
    for (const llm::Message& message : request.messages) {
      if (message.role == "assistant" && message.content.find("decision") != std::string::npos) {
        ++demonstrations;
        said = message.content;
      }
    }
    ++shown[demonstrations];
    llm::ChatReply reply;
    reply.text = talks ? "hm" : said;
    reply.prompt_tokens = 100 + demonstrations;
    return reply;
  }
  void stop() override {}
  std::string name() const override { return "echo"; }

  bool fails = false, talks = false;
  std::size_t calls = 0;
  std::map<std::size_t, std::size_t> shown;
};

/// Of each run one action is always the best, whatever the windows look like: what is shown of the run itself
/// would give the answer away.
std::vector<steer::Experience> windows(const std::vector<std::string>& graphs, std::size_t runs) {
  const steer::ActionSet actions = steer::replace_actions();
  std::vector<steer::Experience> all;
  for (const std::string& graph : graphs) {
    for (std::size_t run = 0; run < runs; ++run) {
      for (std::size_t window = 0; window < 12; ++window) {
        steer::Experience each;
        each.graph = graph;
        each.run = graph + std::to_string(run);
        each.action_set = actions.key();
        each.sequence = window;
        each.features[0] = static_cast<float>(window) / 12;
        each.report.action = "skip";
        each.best = run % 2;
        each.costs = {1.5, 1.5};
        each.costs[each.best] = 1;
        all.push_back(each);
      }
    }
  }
  return all;
}

std::vector<AblationRow> rows_of(const std::vector<steer::Experience>& all, Echo& model,
                                 const AblationOptions& options) {
  auto rows = ablate(all, steer::replace_actions(), model, options, {});
  EXPECT_TRUE(rows.ok()) << rows.error().message;
  return rows.ok() ? std::move(rows).value() : std::vector<AblationRow>();
}

TEST(Ablation, NeverShowsWindowsOfTheRunThatItAsksAbout) {
  Echo model;
  AblationOptions options;
  options.demonstrations = {1, 5};
  options.windows = 6;
  options.held_out_runs = 0.5;
  const auto rows = rows_of(windows({"a"}, 2), model, options);
  ASSERT_EQ(rows.size(), 5U);  // the fallback, and two choosers of each size
  for (const AblationRow& row : rows) {
    EXPECT_EQ(row.unseen, "runs");
    EXPECT_EQ(row.windows, 6U);
    if (row.chooser != "fallback") {
      EXPECT_EQ(row.accuracy.mean, 0) << row.chooser << ": the other run says the contrary";
      EXPECT_NEAR(row.regret_oracle, 0.5, 1e-12);
    }
  }
}

TEST(Ablation, AsksAboutEachGraphWithWindowsOfTheOthers) {
  Echo model;
  AblationOptions options;
  options.demonstrations = {0, 3};
  options.windows = 5;
  const auto rows = rows_of(windows({"a", "b", "c"}, 2), model, options);
  std::vector<std::string> unseen;
  for (const AblationRow& row : rows) {
    if (row.chooser == "llm" && row.demonstrations == 3) {
      unseen.push_back(row.unseen);
      EXPECT_EQ(row.prompt_tokens, 103);
      EXPECT_TRUE(row.latency_p50.has_value());
    }
  }
  EXPECT_THAT(unseen, ElementsAre("runs", "a", "b", "c"));
  EXPECT_EQ(model.shown[0], 4U * 5);
  EXPECT_EQ(model.shown[3], 4U * 5);
}

TEST(Ablation, CountsWhatIsNotAnAnswerAsTheFallback) {
  Echo model;
  model.talks = true;
  AblationOptions options;
  options.demonstrations = {5};
  const auto rows = rows_of(windows({"a", "b"}, 2), model, options);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    if (rows[i].chooser == "fallback") {
      EXPECT_EQ(rows[i + 1].chooser, "llm");
      EXPECT_EQ(rows[i + 1].refused, rows[i + 1].windows);
      EXPECT_EQ(rows[i + 1].accuracy.mean, rows[i].accuracy.mean);
    }
  }
}

TEST(Ablation, EndsWhenNothingIsAnsweredOrNothingCanBeHeldOut) {
  Echo model;
  model.fails = true;
  const auto gone = ablate(windows({"a"}, 2), steer::replace_actions(), model, {}, {});
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, HasSubstr("model echo: gone"));
  const auto one = ablate(windows({"a"}, 1), steer::replace_actions(), model, {}, {});
  ASSERT_FALSE(one.ok());
  EXPECT_THAT(one.error().message, HasSubstr("none can be held out"));
}

}  // namespace
}  // namespace rudder::sim

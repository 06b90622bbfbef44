// SPDX-License-Identifier: Apache-2.0
#include "rudder/llm/retry.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::llm {
namespace {

using ::testing::HasSubstr;

/// Answers with a script, and tells what it was asked.
class ScriptedModel final : public Model {
 public:
  using Script = std::function<Result<ChatReply>(const ChatRequest&, std::size_t)>;
  ScriptedModel(Script script, std::vector<Duration>& timeouts)
      : script_(std::move(script)), timeouts_(timeouts) {}
  Result<ChatReply> complete(const ChatRequest& request) override {
    timeouts_.push_back(request.timeout);
    return script_(request, timeouts_.size() - 1);
  }
  void stop() override { stopped_ = true; }
  [[nodiscard]] std::string name() const override { return "scripted"; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  Script script_;
  std::vector<Duration>& timeouts_;
  bool stopped_ = false;
};

class Retries : public testing::Test {
 protected:
  Result<ChatReply> run(ScriptedModel::Script script, double seconds, RetryOptions options = {}) {
    model_ = with_retries(std::make_unique<ScriptedModel>(std::move(script), timeouts_), options, clock_);
    ChatRequest request;
    request.timeout = from_seconds(seconds);
    begin_ = clock_.now();
    return model_->complete(request);
  }
  [[nodiscard]] double elapsed() const { return to_seconds(clock_.now() - begin_); }

  FakeClock clock_;
  TimePoint begin_{};
  std::vector<Duration> timeouts_;
  std::unique_ptr<Model> model_;
};

const Error kBroken{Errc::kPeer, "broke off"};

TEST_F(Retries, TriesAgainUntilTheServerIsBack) {
  const auto reply = run(
      [](const ChatRequest&, std::size_t tries) -> Result<ChatReply> {
        if (tries < 3) {
          return kBroken;
        }
        ChatReply good;
        good.text = "here";
        return good;
      },
      60);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->text, "here");
  ASSERT_EQ(timeouts_.size(), 4U);
  // Waits of half to all of 0.2, 0.4 and 0.8 s.
  EXPECT_GE(elapsed(), 0.7 - 1e-9);
  EXPECT_LE(elapsed(), 1.4 + 1e-9);
  EXPECT_NEAR(reply->seconds, elapsed(), 1e-9);
  EXPECT_EQ(timeouts_[0], from_seconds(60));
  EXPECT_NEAR(to_seconds(timeouts_[3]), 60 - elapsed(), 1e-9) << "later tries have what is left";
}

TEST_F(Retries, WaitsGrowToABound) {
  RetryOptions options;
  options.first = from_seconds(1);
  options.most = from_seconds(4);
  ASSERT_FALSE(run([](const ChatRequest&, std::size_t) { return kBroken; }, 1000, options).ok());
  for (std::size_t i = 1; i < timeouts_.size(); ++i) {
    const double waited = to_seconds(timeouts_[i - 1] - timeouts_[i]);
    const double longest = i == 1 ? 1 : i == 2 ? 2 : 4;
    EXPECT_GE(waited, longest / 2 - 1e-9) << i;
    EXPECT_LE(waited, longest + 1e-9) << i;
  }
  EXPECT_GT(timeouts_.size(), 250U);
}

TEST_F(Retries, StayWithinTheCallsTimeout) {
  const auto reply = run(
      [&](const ChatRequest&, std::size_t) {
        clock_.advance(from_seconds(0.3));  // each try takes its time
        return kBroken;
      },
      2);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Errc::kPeer);
  EXPECT_THAT(reply.error().message, HasSubstr("broke off"));
  EXPECT_THAT(reply.error().message, HasSubstr("tries"));
  EXPECT_LE(elapsed(), 2.3);
  for (const Duration timeout : timeouts_) {
    EXPECT_GT(timeout, Duration::zero());
  }
}

TEST_F(Retries, OtherErrorsAreFinal) {
  for (const Errc code : {Errc::kTimeout, Errc::kInvalidArgument, Errc::kCancelled, Errc::kInternal}) {
    timeouts_.clear();
    const auto reply = run([&](const ChatRequest&, std::size_t) { return Error{code, "final"}; }, 60);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, code);
    EXPECT_EQ(timeouts_.size(), 1U);
    EXPECT_EQ(elapsed(), 0);
  }
}

TEST_F(Retries, StopEndsTheWait) {
  const auto reply = run(
      [&](const ChatRequest&, std::size_t) {
        model_->stop();  // as another thread would
        return kBroken;
      },
      60);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Errc::kCancelled);
  EXPECT_EQ(elapsed(), 0);
}

TEST_F(Retries, JitterIsSeeded) {
  const auto waits = [&](std::uint64_t seed) {
    timeouts_.clear();
    RetryOptions options;
    options.seed = seed;
    EXPECT_FALSE(run([](const ChatRequest&, std::size_t) { return kBroken; }, 10, options).ok());
    return timeouts_;
  };
  EXPECT_EQ(waits(1), waits(1));
  EXPECT_NE(waits(1), waits(2));
}

}  // namespace
}  // namespace rudder::llm

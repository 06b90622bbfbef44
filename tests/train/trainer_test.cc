// SPDX-License-Identifier: Apache-2.0
#include "rudder/train/trainer.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/clock.h"
#include "rudder/core/files.h"
#include "rudder/launch/rank_env.h"

#include "train/planted_case.h"
#include "train/small_run.h"

namespace rudder::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::error_of;
using testing_support::interrupted;
using testing_support::planted;
using testing_support::PlantedCase;
using testing_support::train_all;

/// One graph for all tests of the program.
TrainOptions small_run(PartId parts) {
  return testing_support::small_run(planted().partition(parts));
}

class TrainerOf : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainerOf, LearnsPlantedCommunitiesOverTwoRanks) {
  TrainOptions options = small_run(2);
  options.model = GetParam();
  options.epochs = 12;
  options.evaluate = true;
  const TrainResult result = train_all(options, 2);
  ASSERT_EQ(result.epochs.size(), 12U);
  EXPECT_GT(result.test_accuracy, 0.9);
  EXPECT_GT(result.val_accuracy, 0.9);
  EXPECT_LT(result.epochs.back().loss, 0.6 * result.epochs.front().loss);
}
INSTANTIATE_TEST_SUITE_P(Models, TrainerOf, ::testing::Values("sage", "gcn", "gat"));

TEST(Trainer, PolicyDepthThreadsAndLinkNeverChangeALossOrTheModel) {
  TrainOptions options = small_run(2);
  options.policy = "none";
  options.depth = 0;
  const TrainResult expected = train_all(options, 2);
  ASSERT_FALSE(expected.loss_digest.empty());
  const auto expect_same = [&](const char* what) {
    const TrainResult got = train_all(options, 2);
    EXPECT_EQ(got.loss_digest, expected.loss_digest) << what;
    EXPECT_EQ(got.model_digest, expected.model_digest) << what;
  };
  expect_same("again");
  for (const char* policy : {"lookahead", "lru", "degree", "fixed-window"}) {
    for (const std::uint32_t depth : {0U, 1U, 4U}) {
      options.policy = policy;
      options.depth = depth;
      expect_same(policy);
    }
  }
  options.threads = 2;
  expect_same("two threads");
  options.link_bits_per_second = 400e6;
  expect_same("shaped link");
}

class Resume : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Resume, GoesOnBitForBit) {
  TrainOptions options = small_run(2);
  options.epochs = 5;
  options.schedule = "cosine";
  options.warmup_steps = 3;
  options.weight_decay = 0.01;
  options.clip_norm = 0.5;
  options.evaluate = true;
  const TrainResult whole = train_all(options, 2);
  const auto folder = TemporaryDirectory::create("resume");
  options.checkpoint_directory = folder->path() / "run";
  options.checkpoint_steps = GetParam();
  options.resume = true;  // nothing there: from the beginning
  const TrainResult first = interrupted(options, 2, 1);
  EXPECT_TRUE(first.stopped);
  EXPECT_FALSE(first.evaluated);
  EXPECT_EQ(first.epochs.size(), 2U);
  options.policy = "lru";  // decides no loss
  options.threads = 2;
  const TrainResult second = interrupted(options, 2, 3);
  EXPECT_TRUE(second.stopped);
  const TrainResult last = train_all(options, 2);
  EXPECT_FALSE(last.stopped);
  EXPECT_EQ(last.loss_digest, whole.loss_digest);
  EXPECT_EQ(last.model_digest, whole.model_digest);
  EXPECT_EQ(last.test_accuracy, whole.test_accuracy);
  ASSERT_EQ(last.epochs.size(), whole.epochs.size());
  for (std::size_t i = 0; i < whole.epochs.size(); ++i) {
    EXPECT_EQ(last.epochs[i].loss, whole.epochs[i].loss);
  }
  // A finished run is only evaluated again.
  EXPECT_EQ(train_all(options, 2).test_accuracy, whole.test_accuracy);
}
INSTANTIATE_TEST_SUITE_P(CheckpointSteps, Resume, ::testing::Values(0, 1, 3, 1000));

TEST(Trainer, ADivergingRunEndsWithAnError) {
  TrainOptions options = small_run(2);
  options.epochs = 50;
  options.learning_rate = 10;
  options.weight_decay = 1;
  EXPECT_THAT(error_of(options, {.world = 2, .host = "here"}).message, HasSubstr("diverges"));
}

TEST(Trainer, AFailedRunGoesOnFromItsLastCheckpoint) {
  TrainOptions options = small_run(2);
  const TrainResult whole = train_all(options, 2);
  const auto folder = TemporaryDirectory::create("resume");
  options.checkpoint_directory = folder->path();
  options.epochs = 2;  // with a constant rate a run may be made longer
  train_all(options, 2);
  options.epochs = 3;
  options.resume = true;
  EXPECT_EQ(train_all(options, 2).loss_digest, whole.loss_digest);
  options.batch = 39;
  options.dropout = 0.4;
  EXPECT_THAT(error_of(options, {.world = 2, .host = "here"}).message,
              AllOf(HasSubstr("batch was 40, is 39"), HasSubstr("dropout was 0.5, is 0.4")));
}

TEST(Trainer, TheSeedChangesEverything) {
  TrainOptions options = small_run(2);
  const TrainResult first = train_all(options, 2);
  options.seed = 2;
  EXPECT_NE(train_all(options, 2).loss_digest, first.loss_digest);
}

TEST(Trainer, AccuracyHardlyDependsOnTheNumberOfRanks) {
  for (const Rank world : {Rank{1}, Rank{2}, Rank{4}}) {
    TrainOptions options = small_run(world);
    options.batch = 160 / world;
    options.epochs = 15;
    options.evaluate = true;
    const TrainResult result = train_all(options, world);
    EXPECT_GT(result.test_accuracy, 0.93) << world << " ranks";
    EXPECT_EQ(result.by_rank.size(), world);
  }
}

TEST(Trainer, CountsAddUp) {
  TrainOptions options = small_run(4);
  options.policy = "none";
  const TrainResult none = train_all(options, 4);
  options.policy = "lookahead";
  const TrainResult cached = train_all(options, 4);
  ASSERT_EQ(none.epochs.size(), cached.epochs.size());
  std::uint64_t requests = 0;
  for (std::size_t e = 0; e < none.epochs.size(); ++e) {
    EXPECT_EQ(none.epochs[e].requests, cached.epochs[e].requests);
    EXPECT_EQ(none.epochs[e].hits, 0U);
    EXPECT_EQ(none.epochs[e].fetched, none.epochs[e].requests);
    EXPECT_EQ(none.epochs[e].payload_bytes, none.epochs[e].fetched * 24 * sizeof(float));
    EXPECT_GT(none.epochs[e].wire_bytes, none.epochs[e].payload_bytes);
    EXPECT_LT(cached.epochs[e].fetched, none.epochs[e].fetched);
    EXPECT_GT(cached.epochs[e].hits, 0U);
    const EpochResult& epoch = cached.epochs[e];
    EXPECT_NEAR(epoch.compute_seconds + epoch.all_reduce_seconds + epoch.stall_seconds, epoch.seconds, 1e-6);
    requests += epoch.requests;
  }
  std::uint64_t by_rank = 0;
  for (const RankCounts& rank : cached.by_rank) {
    by_rank += rank.requests;
  }
  EXPECT_EQ(by_rank, requests);
  const std::size_t steps = cached.step_losses.size();
  EXPECT_EQ(steps, cached.step_hit_rates.size());
  EXPECT_EQ(steps % 3, 0U);
  EXPECT_EQ(cached.world, 4U);
  EXPECT_EQ(cached.policy, "lookahead");
  EXPECT_GT(cached.peak_rss_bytes, 1U << 20);
  EXPECT_EQ(cached.loss_digest.size(), 64U);
}

TEST(Trainer, ReportsEveryEpochToTheListenerAndTheMetricsFile) {
  TrainOptions options = small_run(2);
  options.run_directory = planted().scratch() / "run";
  std::vector<double> heard;
  const EpochListener listener = [&](const EpochResult& epoch) { heard.push_back(epoch.loss); };
  const auto result = train(options, {.world = 2, .host = "here"}, listener, nullptr);
  ASSERT_TRUE(result.ok()) << result.error().message;
  std::ifstream lines(options.run_directory / "metrics.jsonl");
  std::string line;
  std::vector<double> written;
  while (std::getline(lines, line)) {
    written.push_back(nlohmann::json::parse(line).at("loss").get<double>());
  }
  EXPECT_EQ(heard.size(), 3U);
  EXPECT_EQ(written, heard);
}

TEST(Trainer, StopsBetweenStepsOnAllRanksTogether) {
  TrainOptions options = small_run(2);
  options.epochs = 1000;
  std::atomic<bool> stop = false;
  const EpochListener listener = [&](const EpochResult& epoch) { stop = epoch.epoch == 1; };
  const auto result = train(options, {.world = 2, .host = "here"}, listener, &stop);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::kCancelled);
  EXPECT_THAT(result.error().message, HasSubstr("stopped in epoch 2, step 0"));
}

TEST(Trainer, SaysWhatIsWrongWithItsOptions) {
  const RankInfo two{.world = 2, .host = "here"};
  TrainOptions options = small_run(2);
  EXPECT_THAT(error_of(options, {.world = 3, .host = "here"}).message,
              HasSubstr("has 2 parts, but the run has 3 ranks"));
  options.policy = "lookahed";
  EXPECT_THAT(error_of(options, two).message, AllOf(HasSubstr("lookahed"), HasSubstr("lookahead")));
  options = small_run(2);
  options.model = "sge";
  EXPECT_THAT(error_of(options, two).message, HasSubstr("'sge', did you mean 'sage'?"));
  options = small_run(2);
  options.buffer = "-3";
  EXPECT_THAT(error_of(options, two).message, HasSubstr("-3"));
  options = small_run(2);
  options.fanout = {5, 0};
  EXPECT_THAT(error_of(options, two).message, HasSubstr("fan-out '5,0'"));
  options = small_run(2);
  options.transport = "pigeon";
  EXPECT_THAT(error_of(options, two).message, HasSubstr("'pigeon'"));
  options = small_run(2);
  options.partition = planted().scratch() / "nowhere";
  EXPECT_THAT(error_of(options, two).message, HasSubstr("nowhere"));
  options = small_run(2);
  options.batch = 0;
  EXPECT_THAT(error_of(options, two).message, HasSubstr("must be positive"));
}

/// Rank `rank` of a run over UCX as a process of its own. It leaves its loss digest, or its error's message,
/// in the file `out`, and exits with 0 or 1.
pid_t fork_rank(TrainOptions options, Rank rank, Rank world, std::uint16_t port,
                const std::filesystem::path& out) {
  static const Secret secret;  // made before the first fork: all ranks of this program have it
  const pid_t child = ::fork();
  if (child != 0) {
    return child;
  }
  options.transport = "ucx";
  if (rank != 0) {
    options.run_directory.clear();
  }
  const auto result = train(
      options,
      {.rank = rank, .world = world, .master_port = port, .host = fmt::format("h{}", rank), .secret = secret},
      {}, nullptr);
  const Status written =
      write_text(out, result.ok() ? result->loss_digest + result->model_digest : result.error().message);
  ::_exit(result.ok() && written.ok() ? 0 : 1);
}

int exit_code(pid_t child) {
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The children come first: a process that runs threads or UCX cannot be forked safely.
TEST(TrainerProcesses, GiveTheBitsThatThreadsGive) {
  const TrainOptions options = small_run(2);
  const std::uint16_t port = launch::free_port().value();
  std::vector<std::filesystem::path> outs = {planted().scratch() / "out0", planted().scratch() / "out1"};
  const std::vector<pid_t> children = {fork_rank(options, 0, 2, port, outs[0]),
                                       fork_rank(options, 1, 2, port, outs[1])};
  for (std::size_t r = 0; r < children.size(); ++r) {
    EXPECT_EQ(exit_code(children[r]), 0) << read_text(outs[r]).value();
  }
  const TrainResult threads = train_all(options, 2);
  EXPECT_EQ(read_text(outs[0]).value(), threads.loss_digest + threads.model_digest);
}

/// Sends rank 2 of four a signal once the first epoch is over; the others must fail and name it within
/// `limit`.
void expect_blame_after(int signal, const TrainOptions& given, double limit) {
  TrainOptions options = given;
  options.epochs = 100000;
  options.run_directory = planted().scratch() / fmt::format("signal{}", signal);
  const std::uint16_t port = launch::free_port().value();
  std::vector<std::filesystem::path> outs;
  std::vector<pid_t> children;
  for (Rank rank = 0; rank < 4; ++rank) {
    outs.push_back(planted().scratch() / fmt::format("signal{}-{}", signal, rank));
    children.push_back(fork_rank(options, rank, 4, port, outs.back()));
  }
  const Deadline patience = Deadline::in(from_seconds(60));
  const auto metrics = options.run_directory / "metrics.jsonl";
  while (!(std::filesystem::exists(metrics) && std::filesystem::file_size(metrics) > 0)) {
    ASSERT_FALSE(patience.passed()) << "no epoch was finished";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ASSERT_EQ(::kill(children[2], signal), 0);
  const TimePoint sent = steady_clock().now();
  for (const Rank rank : {Rank{0}, Rank{1}, Rank{3}}) {
    EXPECT_EQ(exit_code(children[rank]), 1);
    EXPECT_THAT(read_text(outs[rank]).value(),
                AllOf(HasSubstr("rank 2 (host h2)"), ::testing::Not(HasSubstr("(host h0)")),
                      ::testing::Not(HasSubstr("(host h1)")), ::testing::Not(HasSubstr("(host h3)"))));
  }
  EXPECT_LT(to_seconds(steady_clock().now() - sent), limit);
  ::kill(children[2], SIGKILL);
  EXPECT_EQ(exit_code(children[2]), 128 + SIGKILL);
}

TEST(TrainerProcesses, NameTheRankThatDied) {
  const TrainOptions options = small_run(4);
  expect_blame_after(SIGKILL, options, options.deadline_seconds);
}

TEST(TrainerProcesses, NameTheRankThatHangs) {
  TrainOptions options = small_run(4);
  options.deadline_seconds = 3;
  expect_blame_after(SIGSTOP, options, 1.5 * options.deadline_seconds);  // half of it for a loaded machine
}

}  // namespace
}  // namespace rudder::train

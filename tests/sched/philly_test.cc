// SPDX-License-Identifier: Apache-2.0
// The whole Philly trace under each policy.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "rudder/sched/sim_metrics.h"
#include "rudder/sched/trace.h"

namespace rudder::sched {
namespace {

const std::filesystem::path kTrace = std::filesystem::path(RUDDER_TEST_SHARED_DATA) / "sched/philly.csv";

class Philly : public testing::TestWithParam<Policy> {};

TEST_P(Philly, RunsEveryJobOnce) {
  if (!std::filesystem::exists(kTrace)) {
    GTEST_SKIP() << kTrace << " is not here";
  }
  const auto trace = read_trace(kTrace, TraceFormat::kPhilly, {});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 82247U);
  EXPECT_EQ(trace->skipped, 0);
  const auto cluster = make_cluster({});
  SimOptions options;
  options.planner.policy = GetParam();
  const auto result = simulate(*cluster, *trace, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const SimMetrics metrics = measure(*cluster, *trace, *result);
  EXPECT_EQ(metrics.finished, 82247);
  EXPECT_EQ(metrics.rejected, 0);
  EXPECT_EQ(result->runs.size(), 82247U);
  double work = 0;
  for (const TraceJob& job : trace->jobs) {
    work += static_cast<double>(job.duration) * static_cast<double>(job.spec.all_gpus());
  }
  EXPECT_NEAR(result->used_gpu_seconds / work, 1.0, 1e-9);
  EXPECT_GT(metrics.allocation, 0.4);
  EXPECT_LE(metrics.allocation, 1.0);
}

INSTANTIATE_TEST_SUITE_P(Policies, Philly, testing::Values(Policy::kFifo, Policy::kEasy, Policy::kReserve),
                         [](const auto& parameter) { return std::string(policy_name(parameter.param)); });

}  // namespace
}  // namespace rudder::sched

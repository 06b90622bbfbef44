// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/rank_env.h"

#include <cstdlib>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"

namespace rudder::launch {
namespace {

using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

const Variables kTorchrun = {
    {"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                            {"PMIX_NAMESPACE", "1234.0"}};
const Variables kSlurm = {{"SLURM_PROCID", "5"},         {"SLURM_STEP_NUM_TASKS", "8"},
                          {"SLURM_STEP_NUM_NODES", "4"}, {"SLURM_STEP_NODELIST", "gpu-a[03,07],gpu-b1"},
                          {"SLURM_JOB_ID", "77"},        {"SLURM_STEP_ID", "0"}};

/// Sets variables, asks, and clears them.
Result<RankEnvironment> ask(const Variables& variables) {
  for (const char* name :
       {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
        "SLURM_STEP_NUM_NODES", "SLURM_STEP_NODELIST", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_HOSTFILE",
        "SLURM_DISTRIBUTION", "SLURM_NTASKS"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : variables) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  return rank_from_environment();
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) {
    variables[name] = value;
  }
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

std::string error_of(const Variables& variables) {
  const auto found = ask(variables);
  return found.ok() ? "no error" : found.error().message;
}

TEST(RankEnvironment, IsAWorldOfOneWithoutVariables) {
  EXPECT_EQ(ask({}).value().world, 1U);
  // A batch script is no step: what it starts itself is one process.
  EXPECT_EQ(ask({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}).value().world, 1U);
}

TEST(RankEnvironment, ReadsTorchrunsVariables) {
  const RankEnvironment found = ask(kTorchrun).value();
  EXPECT_EQ(found.rank, 2U);
  EXPECT_EQ(found.world, 4U);
  EXPECT_EQ(found.master_address, "10.0.0.1");
  EXPECT_EQ(found.master_port, 29500);
}

TEST(RankEnvironment, ReadsOpenMpisVariables) {
  const RankEnvironment found = ask(kOpenMpi).value();
  EXPECT_EQ(found.rank, 1U);
  EXPECT_EQ(found.world, 3U);
  EXPECT_EQ(found.master_address, "127.0.0.1");
  EXPECT_GE(found.master_port, 10000);
  EXPECT_LT(found.master_port, 30000);
  EXPECT_NE(ask(with(kOpenMpi, {{"PMIX_NAMESPACE", "1235.0"}})).value().master_port, found.master_port);
  const Variables spread = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
  EXPECT_THAT(error_of(spread), HasSubstr("MASTER_ADDR"));
  EXPECT_EQ(ask(with(spread, {{"MASTER_ADDR", "n1"}})).value().master_address, "n1");
}

TEST(RankEnvironment, ReadsASlurmStepsVariables) {
  const RankEnvironment found = ask(kSlurm).value();
  EXPECT_EQ(found.rank, 5U);
  EXPECT_EQ(found.world, 8U);
  EXPECT_EQ(found.master_address, "gpu-a03");
  EXPECT_EQ(ask(with(kSlurm, {{"SLURM_PROCID", "6"}})).value().master_port, found.master_port);
  EXPECT_NE(ask(with(kSlurm, {{"SLURM_STEP_ID", "1"}})).value().master_port, found.master_port);
  EXPECT_NE(ask(with(kSlurm, {{"SLURM_JOB_ID", "78"}})).value().master_port, found.master_port);
  EXPECT_EQ(ask(with(kSlurm, {{"MASTER_PORT", "4000"}})).value().master_port, 4000);
  EXPECT_EQ(ask(with(kSlurm, {{"SLURM_STEP_NUM_NODES", "1"}})).value().master_address, "127.0.0.1");
}

TEST(RankEnvironment, UnderAHostFileRankZeroIsOnItsFirstHost) {
  auto folder = TemporaryDirectory::create("rank-env");
  const auto path = folder->path() / "hosts";
  ASSERT_TRUE(write_text(path, "gpu-b1\ngpu-a03\n").ok());
  const Variables given = with(kSlurm, {{"SLURM_HOSTFILE", path.string()}});
  EXPECT_EQ(ask(with(given, {{"SLURM_DISTRIBUTION", "arbitrary"}})).value().master_address, "gpu-b1");
  EXPECT_EQ(ask(with(given, {{"SLURM_DISTRIBUTION", "block"}})).value().master_address, "gpu-a03");
  ASSERT_TRUE(write_text(path, "\n").ok());
  EXPECT_THAT(error_of(with(given, {{"SLURM_DISTRIBUTION", "arbitrary"}})), HasSubstr("no host in line 1"));
}

TEST(RankEnvironment, TheNearestLauncherWins) {
  EXPECT_EQ(ask(with(with(kSlurm, kOpenMpi), kTorchrun)).value().rank, 2U);
  EXPECT_EQ(ask(with(kSlurm, kOpenMpi)).value().rank, 1U);
}

TEST(RankEnvironment, NamesWhatIsMissingOrWrong) {
  EXPECT_THAT(error_of(without(kTorchrun, "MASTER_PORT")), HasSubstr("MASTER_PORT is missing"));
  EXPECT_THAT(error_of(without(kTorchrun, "RANK")), HasSubstr("RANK is missing while WORLD_SIZE is set"));
  EXPECT_THAT(error_of(with(kTorchrun, {{"RANK", "4"}})), HasSubstr("RANK='4'"));
  EXPECT_THAT(error_of(with(kTorchrun, {{"MASTER_PORT", "0"}})), HasSubstr("MASTER_PORT='0'"));
  EXPECT_THAT(error_of(without(kOpenMpi, "OMPI_COMM_WORLD_SIZE")),
              HasSubstr("OMPI_COMM_WORLD_SIZE is missing"));
  EXPECT_THAT(error_of(without(kSlurm, "SLURM_PROCID")), HasSubstr("SLURM_PROCID is missing"));
  EXPECT_THAT(error_of(without(kSlurm, "SLURM_STEP_NODELIST")), HasSubstr("SLURM_STEP_NODELIST is missing"));
  EXPECT_THAT(error_of(with(kSlurm, {{"SLURM_STEP_NODELIST", "a[1-"}})), HasSubstr("a[1-"));
}

}  // namespace
}  // namespace rudder::launch

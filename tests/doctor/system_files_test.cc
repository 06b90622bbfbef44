// SPDX-License-Identifier: Apache-2.0
#include "rudder/doctor/system_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/core/rng.h"

namespace rudder::doctor {
namespace {

using testing::ElementsAre;

TEST(CountCores, CountsEachCoreOfEachPackageOnce) {
  const std::string two_threads_a_core =
      "processor\t: 0\nphysical id\t: 0\ncore id\t\t: 0\n\nprocessor\t: 1\nphysical id\t: 0\ncore id\t\t: "
      "0\n\n"
      "processor\t: 2\nphysical id\t: 1\ncore id\t\t: 0\n\nprocessor\t: 3\nphysical id\t: 1\ncore id\t\t: "
      "0\n";
  EXPECT_EQ(count_cores(two_threads_a_core), 2U);
}

TEST(CountCores, IsUnknownWhereTheFileDoesNotSay) {
  EXPECT_EQ(count_cores(""), std::nullopt);
  EXPECT_EQ(count_cores("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"), std::nullopt);
  EXPECT_EQ(count_cores("core id: many\ncore id\n:::\n"), std::nullopt);
}

TEST(CountListed, ReadsRangesAndRefusesEverythingElse) {
  EXPECT_EQ(count_listed("0\n"), 1U);
  EXPECT_EQ(count_listed("0-3,8\n"), 5U);
  EXPECT_EQ(count_listed("0-3,8-11,15"), 9U);
  for (const char* text :
       {"", "\n", "-", "0-", "-3", "3-1", "0,,1", "0,", "0-99999999999", "a-b", "0 1", "0x3"}) {
    EXPECT_EQ(count_listed(text), std::nullopt) << text;
  }
}

TEST(MeminfoValue, ReadsKilobytesAndCounts) {
  const std::string text =
      "MemTotal:       49374140 kB\nMemAvailable:   40000000 kB\nHugePages_Total:       5\nHugepagesize:   "
      "2048 kB\n";
  EXPECT_EQ(meminfo_value(text, "MemTotal"), 49374140ULL * 1024);
  EXPECT_EQ(meminfo_value(text, "HugePages_Total"), 5U);
  EXPECT_EQ(meminfo_value(text, "Hugepagesize"), 2048U * 1024);
  EXPECT_EQ(meminfo_value(text, "Mem"), std::nullopt);  // a whole name, not its beginning
}

TEST(MeminfoValue, RefusesWhatIsNoSuchNumber) {
  for (const char* line :
       {"MemTotal:", "MemTotal: kB", "MemTotal: -1 kB", "MemTotal: 1 MB", "MemTotal: 1 kB 2",
        "MemTotal: 9223372036854775807 kB", "MemTotal: 99999999999999999999 kB", "MemTotal 5 kB"}) {
    EXPECT_EQ(meminfo_value(line, "MemTotal"), std::nullopt) << line;
  }
}

TEST(SelectedWord, IsTheOneInBrackets) {
  EXPECT_EQ(selected_word("always [madvise] never\n"), "madvise");
  EXPECT_EQ(selected_word("[never]"), "never");
  EXPECT_EQ(selected_word("always madvise"), "");
  EXPECT_EQ(selected_word("[] ["), "");
}

TEST(Quota, OfBothVersions) {
  EXPECT_EQ(quota_of_cpu_max("50000 100000\n"), 0.5);
  EXPECT_EQ(quota_of_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(quota_of_cfs("150000\n", "100000\n"), 1.5);
  EXPECT_EQ(quota_of_cfs("-1\n", "100000\n"), std::nullopt);
  for (const char* text : {"", "max", "1", "1 0", "0 1", "-5 10", "1 2 3", "one two", "1e5 2"}) {
    EXPECT_EQ(quota_of_cpu_max(text), std::nullopt) << text;
  }
}

TEST(MemoryLimit, KnowsTheWordsForNone) {
  EXPECT_EQ(memory_limit("1073741824\n"), 1073741824U);
  EXPECT_EQ(memory_limit("0\n"), 0U);
  for (const char* none : {"max\n", "9223372036854771712\n", "18446744073709551615", "-1", "", "1 G"}) {
    EXPECT_EQ(memory_limit(none), std::nullopt) << none;
  }
}

/// A folder that stands for "/".
class Cgroups : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::create("doctor");
    ASSERT_TRUE(made.ok()) << made.error().message;
    root_.emplace(std::move(made).value());
  }
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_->path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] CgroupLimits limits() const { return read_cgroup_limits(root_->path()); }

 private:
  std::optional<TemporaryDirectory> root_;
};

TEST_F(Cgroups, WithoutFilesThereIsNoLimit) {
  EXPECT_EQ(limits().processors, std::nullopt);
  EXPECT_EQ(limits().memory_bytes, std::nullopt);
}

TEST_F(Cgroups, Version2TakesTheTightestOfAllLevels) {
  put("proc/self/cgroup", "0::/jobs/mine\n");
  put("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/jobs/cpu.max", "200000 100000\n");
  put("sys/fs/cgroup/jobs/mine/memory.max", "4096\n");
  put("sys/fs/cgroup/jobs/memory.max", "8192\n");
  EXPECT_EQ(limits().processors, 2.0);
  EXPECT_EQ(limits().memory_bytes, 4096U);
}

TEST_F(Cgroups, Version2InAContainerThatSeesItsGroupAsTheRoot) {
  put("proc/self/cgroup", "0::/docker/3fa9\n");
  put("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(limits().processors, 0.5);
}

TEST_F(Cgroups, Version1HasAFolderForEachController) {
  put("proc/self/cgroup", "5:memory:/a/b\n2:cpu,cpuacct:/a\n1:cpuset:/a\n0::/\n");
  put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "65536\n");
  put("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n");
  put("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limits().processors, 3.0);
  EXPECT_EQ(limits().memory_bytes, 65536U);
}

TEST_F(Cgroups, PathsDoNotLeaveTheHierarchy) {
  put("secret/memory.max", "1\n");
  put("sys/fs/cgroup/memory.max", "4096\n");
  put("proc/self/cgroup", "0::/../../../secret\n");
  EXPECT_EQ(limits().memory_bytes, 4096U);
}

TEST_F(Cgroups, RandomTextIsSurvived) {
  constexpr std::string_view kLetters = ":/,\n.0ab\xff";
  CounterRng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += kLetters[rng.below(kLetters.size())];
    }
    put("proc/self/cgroup", text);
    EXPECT_EQ(limits().memory_bytes, std::nullopt) << text;
  }
}

TEST(BootstrapPackages, AreTheLiteralArraysOfTheScript) {
  const auto sets = bootstrap_packages(
      "set -e\nbuild=(cmake g++\n  "
      "libucx-dev)\ntest=(python3)\nwanted+=(\"${build[@]}\")\nempty=()\nmissing=($(x))\n");
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_THAT(sets.at("build"), ElementsAre("cmake", "g++", "libucx-dev"));
  EXPECT_THAT(sets.at("test"), ElementsAre("python3"));
  EXPECT_TRUE(bootstrap_packages("build=(never closed").contains("build"));
  EXPECT_TRUE(bootstrap_packages("=(a)").empty());
}

TEST(InstalledPackages, AreThoseInThatState) {
  const auto names =
      installed_packages("cmake installed\ng++ config-files\nodd\n\nninja-build installed\na b installed\n");
  EXPECT_THAT(names, ElementsAre("cmake", "ninja-build"));
}

TEST(ReadSystemFile, ReadsFilesWhoseSizeIsZero) {
  const auto text = read_system_file("/proc/self/status");
  ASSERT_TRUE(text.has_value());
  EXPECT_NE(text->find("Pid:"), std::string::npos);
  EXPECT_EQ(read_system_file("/proc/self/no-such-file"), std::nullopt);
}

}  // namespace
}  // namespace rudder::doctor

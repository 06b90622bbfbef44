// SPDX-License-Identifier: Apache-2.0
#include "rudder/doctor/checks.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "rudder/transport/ucx_resources.h"

namespace rudder::doctor {
namespace {

const Finding& find(const Findings& findings, const std::string& name) {
  const auto at = std::ranges::find(findings, name, &Finding::name);
  EXPECT_NE(at, findings.end()) << name;
  return *at;
}

/// What holds for all: something is measured and explained, and whatever is wrong has a remedy.
void expect_complete(const Findings& findings) {
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.name.empty());
    EXPECT_FALSE(finding.value.empty()) << finding.name;
    EXPECT_FALSE(finding.why.empty()) << finding.name;
    EXPECT_TRUE(finding.verdict == Verdict::kOk || !finding.remedy.empty()) << finding.name;
    EXPECT_EQ(finding.value.find('\n'), std::string::npos) << finding.name;
  }
}

TEST(CheckProcessor, PassesAMachineOfItsOwn) {
  const Findings findings = check_processor(
      {.model = "m", .online = 8, .allowed = 8, .cores = 4, .quota = {}, .clock_source = "tsc"});
  expect_complete(findings);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.name;
  }
  EXPECT_NE(find(findings, "cores").value.find("8 of 8 hardware threads on 4 cores"), std::string::npos);
}

TEST(CheckProcessor, WarnsOfEachLimit) {
  const Findings findings = check_processor(
      {.model = "m", .online = 8, .allowed = 2, .cores = {}, .quota = 0.5, .clock_source = "acpi_pm"});
  expect_complete(findings);
  EXPECT_EQ(find(findings, "cores").verdict, Verdict::kWarning);
  EXPECT_EQ(find(findings, "processor quota").verdict, Verdict::kWarning);
  EXPECT_NE(find(findings, "processor quota").remedy.find("--threads 1"), std::string::npos);
  EXPECT_EQ(find(findings, "time source").verdict, Verdict::kWarning);
}

TEST(CheckProcessor, AQuotaOfAllProcessorsIsNone) {
  const auto findings = check_processor(
      {.model = "m", .online = 4, .allowed = 4, .cores = {}, .quota = 4.0, .clock_source = ""});
  EXPECT_EQ(find(findings, "processor quota").verdict, Verdict::kOk);
  EXPECT_EQ(find(findings, "time source").value, "unknown");
}

TEST(CheckMemory, WarnsBelowOneGibibyte) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  const Findings enough = check_memory(
      {.total = 8 * kGiB, .available = kGiB, .group_limit = {}, .transparent_huge_pages = "madvise"});
  expect_complete(enough);
  EXPECT_TRUE(std::ranges::all_of(enough, [](const Finding& f) { return f.verdict == Verdict::kOk; }));
  const Findings little = check_memory(
      {.total = 8 * kGiB, .available = kGiB - 1, .group_limit = kGiB - 1, .transparent_huge_pages = "never"});
  expect_complete(little);
  EXPECT_TRUE(std::ranges::all_of(little, [](const Finding& f) { return f.verdict == Verdict::kWarning; }));
}

LimitFacts roomy() {
  LimitFacts facts;
  facts.shared_memory = Space{.size = std::uint64_t{8} << 30, .free = std::uint64_t{8} << 30};
  facts.descriptors = 1 << 20;
  facts.temporary_folder = "/tmp";
  facts.temporary = Space{.size = std::uint64_t{8} << 30, .free = std::uint64_t{8} << 30};
  return facts;
}

TEST(CheckLimits, PassesARoomyMachine) {
  const Findings findings = check_limits(roomy(), false);
  expect_complete(findings);
  EXPECT_TRUE(std::ranges::all_of(findings, [](const Finding& f) { return f.verdict == Verdict::kOk; }));
}

TEST(CheckLimits, ContainersOftenHaveLittleSharedMemory) {
  LimitFacts facts = roomy();
  facts.shared_memory = Space{.size = std::uint64_t{64} << 20, .free = std::uint64_t{64} << 20};
  EXPECT_EQ(find(check_limits(facts, false), "/dev/shm").verdict, Verdict::kWarning);
  facts.shared_memory = Space{.size = 4096, .free = 4096};
  EXPECT_EQ(find(check_limits(facts, false), "/dev/shm").verdict, Verdict::kFailure);
  facts.shared_memory.reset();
  EXPECT_EQ(find(check_limits(facts, false), "/dev/shm").verdict, Verdict::kFailure);
}

TEST(CheckLimits, LockedMemoryMattersOnlyToCardsThatReadMemory) {
  LimitFacts facts = roomy();
  facts.locked_bytes = 65536;
  EXPECT_EQ(find(check_limits(facts, false), "locked memory").verdict, Verdict::kOk);
  EXPECT_EQ(find(check_limits(facts, true), "locked memory").verdict, Verdict::kWarning);
  facts.locked_bytes.reset();
  EXPECT_EQ(find(check_limits(facts, true), "locked memory").verdict, Verdict::kOk);
}

TEST(CheckLimits, SaysForHowManyRanksTheFilesAreEnough) {
  LimitFacts facts = roomy();
  facts.descriptors = 47;
  EXPECT_EQ(find(check_limits(facts, false), "open files").verdict, Verdict::kFailure);
  facts.descriptors = 256;
  EXPECT_EQ(find(check_limits(facts, false), "open files").verdict, Verdict::kWarning);
  EXPECT_NE(find(check_limits(facts, false), "open files").value.find("up to 27 ranks"), std::string::npos);
}

TEST(CheckLimits, FailuresCarryTheSystemsReason) {
  LimitFacts facts = roomy();
  facts.memfd = Error{Errc::kIo, "memfd_create: Operation not permitted"};
  facts.temporary.reset();
  const Findings findings = check_limits(facts, false);
  expect_complete(findings);
  EXPECT_EQ(find(findings, "memfd").value, "memfd_create: Operation not permitted");
  EXPECT_EQ(find(findings, "memfd").verdict, Verdict::kFailure);
  EXPECT_EQ(find(findings, "temporary files").verdict, Verdict::kFailure);
}

Verdict of_transports(std::vector<std::string> transports) {
  NetworkFacts facts;
  facts.transports = std::move(transports);
  const Findings findings = check_network(facts);
  expect_complete(findings);
  return find(findings, "UCX transports").verdict;
}

TEST(CheckNetwork, JudgesWhatUcxCanReach) {
  EXPECT_EQ(of_transports({"self/memory0", "tcp/lo", "tcp/eth0", "posix/memory"}), Verdict::kOk);
  EXPECT_EQ(of_transports({"rc_verbs/mlx5_0:1", "sysv/memory"}), Verdict::kOk);
  EXPECT_EQ(of_transports({"self/memory0", "tcp/lo", "posix/memory"}),
            Verdict::kWarning);                                               // no other machine
  EXPECT_EQ(of_transports({"self/memory0", "tcp/eth0"}), Verdict::kWarning);  // no shared memory
  EXPECT_EQ(of_transports({"self/memory0"}), Verdict::kFailure);
  EXPECT_EQ(of_transports({}), Verdict::kFailure);
}

TEST(CheckNetwork, SaysWhatTheTrialSaid) {
  NetworkFacts facts;
  facts.transports = Error{Errc::kInternal, "UCX: ucp_init: No such device"};
  facts.namespaces = Error{Errc::kUnsupported, "network namespaces need root"};
  const Findings findings = check_network(facts);
  expect_complete(findings);
  EXPECT_EQ(find(findings, "UCX transports").verdict, Verdict::kFailure);
  EXPECT_EQ(find(findings, "UCX transports").value, "UCX: ucp_init: No such device");
  EXPECT_EQ(find(findings, "shaped links").verdict, Verdict::kWarning);
  EXPECT_EQ(find(findings, "shaped links").value, "network namespaces need root");
  facts.namespaces = {};
  facts.shaping = Error{Errc::kInternal, "tc: no tbf"};
  EXPECT_EQ(find(check_network(facts), "shaped links").value, "tc: no tbf");
}

TEST(CheckBlas, KnowsSlowLibraries) {
  EXPECT_EQ(check_blas({.kernels = "SkylakeX", .wider = ""}).verdict, Verdict::kOk);
  EXPECT_EQ(check_blas({.kernels = "reference", .wider = ""}).verdict, Verdict::kWarning);
  EXPECT_EQ(check_blas({.kernels = "none", .wider = ""}).verdict, Verdict::kFailure);
  const Finding narrow = check_blas({.kernels = "Prescott", .wider = "SkylakeX"});
  EXPECT_EQ(narrow.verdict, Verdict::kWarning);
  EXPECT_NE(narrow.remedy.find("OPENBLAS_CORETYPE=SkylakeX"), std::string::npos);
}

TEST(CheckSoftware, NamesMissingPackagesInTheCommandThatGetsThem) {
  SoftwareFacts facts;
  facts.package_sets = {{"build", {"cmake", "g++"}}, {"test", {"wordnet-base"}}};
  facts.installed = std::set<std::string>{"g++"};
  facts.commands = {{"mpirun", true}, {"srun", false}};
  const Findings findings = check_software(facts);
  expect_complete(findings);
  EXPECT_EQ(find(findings, "packages: build").verdict, Verdict::kWarning);
  EXPECT_EQ(find(findings, "packages: build").remedy, "apt-get install --no-install-recommends cmake");
  EXPECT_EQ(find(findings, "packages: test").verdict, Verdict::kOk);  // only who tests needs them
  EXPECT_EQ(find(findings, "Open MPI").value, "mpirun");
  EXPECT_TRUE(find(findings, "Open MPI").remedy.empty());
  EXPECT_NE(find(findings, "Slurm").value.find("not installed"), std::string::npos);
  facts.installed.reset();
  EXPECT_EQ(find(check_software(facts), "packages: build").verdict, Verdict::kOk);
}

TEST(UcxResources, AreTheLastWordsOfItsResourceLines) {
  const std::string text =
      "#\n# UCP context\n#\n#     component 0  :  self\n#            md 0  :  component 0  self \n#\n"
      "#      resource 0  :  md 0  dev 0  flags -- self/memory0\n"
      "#      resource 1  :  md 1  dev 1  flags -- tcp/eth0\n#      resource 2  :  md 1  dev 1  flags -- "
      "tcp/eth0\n#\n";
  EXPECT_EQ(transport::parse_ucx_resources(text), (std::vector<std::string>{"self/memory0", "tcp/eth0"}));
  for (const char* odd :
       {"", "\n\n", "# resource ", " resource tcp/", " resource /lo", "resource 1 : tcp", "x resource y\r"}) {
    EXPECT_TRUE(transport::parse_ucx_resources(odd).empty()) << odd;
  }
}

}  // namespace
}  // namespace rudder::doctor

// SPDX-License-Identifier: Apache-2.0
// The machine at hand: figures are whatever they are here, but must agree with other ways to ask.
#include "rudder/doctor/probe.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rudder/launch/network.h"

namespace rudder::doctor {
namespace {

TEST(Probe, SeesThisProcessor) {
  const ProcessorFacts facts = probe_processor("/");
  EXPECT_EQ(facts.allowed, std::thread::hardware_concurrency());
  EXPECT_EQ(facts.online, static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_LE(facts.cores.value_or(1), facts.online);
}

TEST(Probe, SeesThisMemory) {
  const MemoryFacts facts = probe_memory("/");
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  EXPECT_EQ(facts.total, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_GT(facts.available, 0U);
  EXPECT_LE(facts.available, facts.total);
}

TEST(Probe, WithoutProcAndSysEverythingIsUnknown) {
  EXPECT_EQ(probe_processor("/nowhere").quota, std::nullopt);
  EXPECT_EQ(probe_processor("/nowhere").clock_source, "");
  EXPECT_EQ(probe_memory("/nowhere").total, 0U);
}

TEST(Probe, SharedMemoryWorksHere) {
  const LimitFacts facts = probe_limits();
  EXPECT_TRUE(facts.memfd.ok());
  ASSERT_TRUE(facts.shared_memory.has_value());
  EXPECT_LE(facts.shared_memory->free, facts.shared_memory->size);
  EXPECT_TRUE(facts.temporary.has_value());
}

TEST(Probe, TriesTheNetworkAndLeavesNothingBehind) {
  const NetworkFacts facts = probe_network();
  ASSERT_TRUE(facts.transports.ok()) << facts.transports.error().message;
  EXPECT_FALSE(facts.transports.value().empty());
  EXPECT_EQ(facts.namespaces.ok(), launch::can_make_network().ok());
  const std::string mine = "rud" + std::to_string(::getpid());
  for (const char* folder : {"/var/run/netns", "/sys/class/net"}) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(mine)) << entry.path();
    }
  }
}

TEST(Probe, KnowsThePackagesOfTheBootstrapScript) {
  const SoftwareFacts facts = probe_software();
  ASSERT_TRUE(facts.package_sets.contains("build"));
  const auto& build = facts.package_sets.at("build");
  EXPECT_NE(std::ranges::find(build, "libucx-dev"), build.end());
  if (facts.installed) {
    EXPECT_TRUE(facts.installed->contains("libucx-dev"));  // or this test had not been built
  }
}

}  // namespace
}  // namespace rudder::doctor

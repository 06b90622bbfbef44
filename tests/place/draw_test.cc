// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/plan_helpers.h"

namespace rudder::place {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t occurrences(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST(TopologyText, IsATreeWithHostLists) {
  Topology topology = must_read("n[1-3] core/m1/l1\nn4 core/m1/l2\nn[5-6] core/m2/l3\n").topology;
  topology.hosts[4].state = HostState::kDown;
  topology.hosts[5].state = HostState::kBusy;
  EXPECT_EQ(topology_text(topology),
            "core  (6 hosts: 4 free, 1 busy, 1 down)\n"
            "├─ m1  (4 hosts)\n"
            "│  ├─ l1  n[1-3]  (3 hosts)\n"
            "│  └─ l2  n4  (1 host)\n"
            "└─ m2  (2 hosts: 0 free, 1 busy, 1 down)\n"
            "   └─ l3  n[5-6]  (2 hosts: 0 free, 1 busy, 1 down)\n");
}

TEST(TopologyText, EndsAfterTheLinesAskedForAndTakesDeepChains) {
  std::vector<Switch> chain;
  for (SwitchId i = 0; i < 100'000; ++i) {
    chain.push_back({fmt::format("s{}", i), i - 1, 0});
  }
  const Result<Topology> topology = canonical_topology(chain, {{"h", 99'999, {}}});
  ASSERT_TRUE(topology.ok());
  const std::string text = topology_text(*topology, 100);
  EXPECT_EQ(occurrences(text, "\n"), 101U);
  EXPECT_THAT(text, HasSubstr("... and 99900 more switches"));
  EXPECT_LT(topology_svg(*topology).size(), 100'000U);
}

TEST(TopologySvg, DrawsEachHostOnceAndEscapesNames) {
  Topology topology = interleaved_topology();
  topology.switches[1].name = "A<script>&\"";
  topology.hosts[0].state = HostState::kDown;
  const std::string svg = topology_svg(topology);
  EXPECT_EQ(occurrences(svg, "<title>h"), 16U);
  EXPECT_EQ(occurrences(svg, "#c0392b"), 1U);
  EXPECT_THAT(svg, HasSubstr("A&lt;script&gt;&amp;&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
}

TEST(TopologySvg, LeavesOutLevelsThatDoNotFit) {
  std::string text;
  for (int pod = 0; pod < 3; ++pod) {
    for (int leaf = 0; leaf < 1000; ++leaf) {
      text += fmt::format("p{0}l{1}h core/p{0}/p{0}l{1}\n", pod, leaf);
    }
  }
  const std::string svg = topology_svg(must_read(text).topology);
  EXPECT_EQ(occurrences(svg, "<text"), 4U);
  EXPECT_THAT(svg, HasSubstr("1000 hosts"));
}

TEST(HeatMap, HasACellANodeAndTheSpreadOfEachLine) {
  Plan plan = block_plan();
  plan.job = "<b>";
  const Result<std::string> page = heat_map_html(plan);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(occurrences(*page, "<td "), 16U);
  EXPECT_EQ(occurrences(*page, "<th>2</th></tr>"), 4U + 1U);  // four rows, and the last of the columns
  EXPECT_THAT(*page, HasSubstr("title=\"h00, A, rank 0\""));
  EXPECT_THAT(*page, HasSubstr("Placement of &lt;b&gt;"));
  EXPECT_THAT(*page, Not(HasSubstr("http")));
}

}  // namespace
}  // namespace rudder::place

// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/graph/generators.h"

#include "graph/capture.h"
#include "graph/debian_control.h"
#include "graph/graph_helpers.h"
#include "graph/hashed_words.h"

namespace rudder::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kPackages =
    "Package: zsh\n"
    "Version: 5.9\n"
    "Depends: libc6 (>= 2.34), absent | mailer | libc6\n"
    "Section: shells\n"
    "Description: shell with lots of features\n"
    " Zsh is a UNIX command\n"
    " .\n"
    " interpreter\n"
    "\n"
    "Package: libc6\n"
    "Section: libs\n"
    "Description: GNU C Library\n"
    "\n"
    "\n"
    "Package: exim4\n"
    "Provides: mailer (= 1), mail-transport-agent\n"
    "Pre-Depends: libc6:any (>= 1:2.3) [amd64] <!nocheck>\n"
    "Recommends: not-there\n"
    "Section: contrib/mail\n"
    "Description: mailer\n"
    "\n"
    "Package: postfix\n"
    "Depends: libc6\n"
    " , exim4\n"
    " | zsh\n"
    "Provides: mailer\n"
    "Section: non-free/mail\n"
    "Tag: secret::libs\n"
    " , secret::mail\n"
    "\n"
    "Package: libc6\n"
    "Version: 1\n"
    "Section: oldlibs\n"
    "Depends: postfix\n"
    "\n"
    "Package: bare\n"
    "Depends: bare, exim4\n";

// Node ids in name order.
constexpr NodeId kBare = 0, kExim4 = 1, kLibc6 = 2, kPostfix = 3, kZsh = 4;

GraphData small_graph() {
  GeneratorOptions options;
  options.features = 64;
  auto graph = debian_graph(kPackages, options);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::move(graph).value();
}

TEST(DebianControl, KeepsContinuationLinesAndForgetsOtherFields) {
  const auto packages = parse_control(kPackages);
  ASSERT_TRUE(packages.ok()) << packages.error().message;
  ASSERT_EQ(packages->size(), 6U);
  EXPECT_EQ(packages.value()[0].description,
            "shell with lots of features\n Zsh is a UNIX command\n .\n interpreter");
  EXPECT_EQ(packages.value()[3].depends, "libc6\n , exim4\n | zsh");
  EXPECT_EQ(packages.value()[3].section, "non-free/mail");
  EXPECT_EQ(packages.value()[5].section, "");
  EXPECT_EQ(packages.value()[2].line, 15U);
}

TEST(DebianControl, NamesTheLineOfWhatDoesNotParse) {
  const std::pair<const char*, const char*> cases[] = {
      {"Package: a\n\n continued\n", "line 3: continues a field"},
      {"Package: a\nno colon here\n", "line 2: expected 'Field: value', found 'no colon here'"},
      {"Section: x\n\n", "stanza at line 1: '' is not a package name"},
      {"Package: a b\n", "stanza at line 1: 'a b' is not a package name"},
      {"Package: a\nSection: x\nSection: y\n", "line 3: a second 'Section'"}};
  for (const auto& [text, message] : cases) {
    const auto packages = parse_control(text);
    ASSERT_FALSE(packages.ok()) << text;
    EXPECT_THAT(packages.error().message, HasSubstr(message));
  }
}

TEST(DebianControl, RelationsLoseVersionsArchitecturesAndProfiles) {
  const auto clauses =
      parse_relations("libstdc++6 (>= 4.1),python3:any,  a [i386] | b <!x> |c(<<2)\n ,,python3.11-doc, ");
  ASSERT_TRUE(clauses.ok()) << clauses.error().message;
  EXPECT_THAT(clauses.value(), ElementsAre(ElementsAre("libstdc++6"), ElementsAre("python3"),
                                           ElementsAre("a", "b", "c"), ElementsAre("python3.11-doc")));
  EXPECT_THAT(parse_relations("").value(), IsEmpty());
  for (const char* bad : {"a, (>= 1)", "a |", "${shlibs:Depends}"}) {
    EXPECT_FALSE(parse_relations(bad).ok()) << bad;
  }
}

TEST(DebianGraph, LinksPackagesToTheFirstAlternativeThatExists) {
  const GraphData graph = small_graph();
  const CscView csc = view_of(graph);
  ASSERT_EQ(csc.nodes(), 5);
  EXPECT_THAT(neighbors_of(csc, kBare), ElementsAre(kExim4));
  // "absent | mailer | libc6": mailer is virtual, so both of its providers.
  EXPECT_THAT(neighbors_of(csc, kZsh), ElementsAre(kExim4, kLibc6, kPostfix));
  // The second stanza of libc6 is dropped, but postfix depends on libc6 anyway.
  EXPECT_THAT(neighbors_of(csc, kLibc6), ElementsAre(kExim4, kPostfix, kZsh));
  EXPECT_THAT(neighbors_of(csc, kPostfix), ElementsAre(kExim4, kLibc6, kZsh));
  EXPECT_TRUE(is_symmetric(csc));
  EXPECT_EQ(origin_value(graph.origin, "repeated_names_dropped"), "1");
  EXPECT_EQ(origin_value(graph.origin, "dependencies_unresolved"), "1");
  EXPECT_EQ(origin_value(graph.origin, "self_loops_dropped"), "1");
  EXPECT_EQ(origin_value(graph.origin, "isolated_nodes_kept"), "0");
}

TEST(DebianGraph, LabelsAreSectionsWithoutTheArchiveArea) {
  const GraphData graph = small_graph();
  EXPECT_EQ(origin_value(graph.origin, "class_names"), "libs,mail,shells");
  EXPECT_EQ(graph.classes, 3);
  EXPECT_THAT(graph.labels, ElementsAre(-1, 1, 0, 1, 2));
}

TEST(DebianGraph, SplitsLabelledPackagesOnly) {
  const GraphData graph = small_graph();
  std::multiset<NodeId> all;
  for (const auto* split : {&graph.train, &graph.val, &graph.test}) {
    EXPECT_TRUE(std::is_sorted(split->begin(), split->end()));
    all.insert(split->begin(), split->end());
  }
  EXPECT_THAT(all, ElementsAre(kExim4, kLibc6, kPostfix, kZsh));
}

TEST(DebianGraph, FeaturesHoldNameAndDescriptionAndNothingElse) {
  const GraphData graph = small_graph();
  std::vector<float> expected(64);
  add_hashed_words("zsh SHELL with lots of features zsh is a unix command interpreter", expected);
  normalise_row(expected);
  EXPECT_EQ(row_of(graph, kZsh), expected);
  std::vector<float> name_only(64);
  add_hashed_words("postfix", name_only);
  EXPECT_EQ(row_of(graph, kPostfix), name_only);
  for (NodeId v = 0; v < 5; ++v) {
    EXPECT_NEAR(length_of(row_of(graph, v)), 1, 1e-6) << v;
  }
}

TEST(DebianGraph, MergesRareSectionsIntoOther) {
  std::string text;
  for (int i = 0; i < 6000; ++i) {
    const char* section = i < 2 ? "zope" : i < 5 ? "news" : i == 5 ? "other" : "libs";
    text += fmt::format("Package: p{:05}\nSection: {}\n\n", i, section);
  }
  GeneratorOptions options;
  options.features = 1;
  const auto graph = debian_graph(text, options);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  // One package in 2,000: 3 of 6,000 are enough, 2 are not.
  EXPECT_EQ(origin_value(graph->origin, "class_names"), "libs,news,other");
  EXPECT_EQ(graph->labels[0], 2);
  EXPECT_EQ(graph->labels[2], 1);
  EXPECT_EQ(graph->labels[5], 2);
  EXPECT_EQ(graph->labels[6], 0);
  const auto share = static_cast<double>(graph->train.size()) / 6000;
  EXPECT_NEAR(share, 0.6, 0.03);
}

TEST(DebianGraph, VirtualPackagesStandForAtMostFiveProviders) {
  std::string text = "Package: user\nDepends: thing\n\n";
  for (int i = 0; i < 8; ++i) {
    text += fmt::format("Package: p{}\nProvides: thing, thing (= 2)\n\n", i);
  }
  const auto graph = debian_graph(text, {});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_THAT(neighbors_of(view_of(graph.value()), 8), ElementsAre(0, 1, 2, 3, 4));
}

TEST(DebianGraph, RefusesEmptyAndMalformedLists) {
  for (const auto& [text, message] :
       {std::pair{"", "apt-get update"}, std::pair{"Package: a\nDepends: (x)\n", "package a, Depends: '(x)'"},
        std::pair{"Package: a\nProvides: |\n", "package a, Provides"}}) {
    const auto graph = debian_graph(text, {});
    ASSERT_FALSE(graph.ok()) << text;
    EXPECT_THAT(graph.error().message, HasSubstr(message));
  }
  GeneratorOptions options;
  options.features = 0;
  EXPECT_EQ(debian_graph(kPackages, options).error().code, Errc::kInvalidArgument);
}

TEST(DebianGraph, OnlyTheSplitDependsOnTheSeed) {
  GeneratorOptions options;
  options.features = 8;
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("Package: p{}\nSection: s\nDepends: p{}\n\n", i, i * 7 % 200);
  }
  const auto one = debian_graph(text, options);
  const auto again = debian_graph(text, options);
  options.seed = 2;
  const auto two = debian_graph(text, options);
  ASSERT_TRUE(one.ok() && again.ok() && two.ok());
  EXPECT_EQ(one->train, again->train);
  EXPECT_EQ(one->rows, two->rows);
  EXPECT_EQ(one->indices, two->indices);
  EXPECT_NE(one->train, two->train);
}

TEST(DebianGraph, OfThisSystemHasTheExpectedSize) {
  const auto text = capture_output({"apt-cache", "dumpavail"}, {});
  if (!text.ok()) {
    GTEST_SKIP() << text.error().message;
  }
  GeneratorOptions options;
  options.features = 16;
  const auto graph = debian_graph(text.value(), options);
  if (!graph.ok() || graph->labels.size() < 10'000) {
    GTEST_SKIP() << "fewer than 10,000 packages known; run apt-get update";
  }
  // Debian 12's amd64 main holds about 63,700 packages; other releases differ, so the ranges are wide.
  EXPECT_GT(graph->labels.size(), 50'000U);
  EXPECT_LT(graph->labels.size(), 100'000U);
  const double per_node =
      static_cast<double>(graph->indices.size()) / 2 / static_cast<double>(graph->labels.size());
  EXPECT_GT(per_node, 275.0 / 63.7);
  EXPECT_LT(per_node, 300.0 / 63.7);
  EXPECT_GT(graph->classes, 40);
  EXPECT_LT(graph->classes, 70);
  EXPECT_TRUE(is_symmetric(view_of(graph.value())));
}

}  // namespace
}  // namespace rudder::graph

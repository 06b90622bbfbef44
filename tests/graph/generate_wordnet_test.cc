// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/graph/generators.h"

#include "graph/graph_helpers.h"
#include "graph/hashed_words.h"

namespace rudder::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Node ids: 0 and 1 nouns, 2 verb, 3 adjective, 4 adverb.
constexpr const char* kNoun =
    "  1 licence text\n"
    "00000017 03 n 02 entity 0 whole_thing 1 002 ~ 00000099 n 0000 + 00000017 v 0102 | that which exists  \n"
    "00000099 05 n 01 animal 0 001 @ 00000017 n 0000 | a living being  \n";
constexpr const char* kVerb = "00000017 29 v 01 be 0 001 + 00000017 n 0201 01 + 02 00 | exist  \n";
constexpr const char* kAdjective = "00000017 00 s 01 galore(ip) 0 001 \\ 00000017 r 0101 | in abundance  \n";
constexpr const char* kAdverb = "00000017 02 r 01 well 0 001 ! 00000017 a 0101 | in a good way  \n";

class Wordnet : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create("wordnet");
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    folder_.emplace(std::move(folder).value());
    write("data.noun", kNoun);
    write("data.verb", kVerb);
    write("data.adj", kAdjective);
    write("data.adv", kAdverb);
    options_.features = 32;
  }
  void write(const std::string& name, std::string_view text) {
    ASSERT_TRUE(write_text(folder_->path() / name, text).ok());
  }
  Result<GraphData> graph() { return wordnet_graph(folder_->path().string(), options_); }

  std::optional<TemporaryDirectory> folder_;
  GeneratorOptions options_;
};

TEST_F(Wordnet, SynsetsBecomeNodesAndPointersEdges) {
  const auto made = graph();
  ASSERT_TRUE(made.ok()) << made.error().message;
  const CscView csc = view_of(made.value());
  ASSERT_EQ(csc.nodes(), 5);
  EXPECT_THAT(neighbors_of(csc, 0), ElementsAre(1, 2));
  EXPECT_THAT(neighbors_of(csc, 3), ElementsAre(4));
  EXPECT_EQ(csc.edges(), 6);
  EXPECT_THAT(made->labels, ElementsAre(3, 5, 29, 0, 2));
  EXPECT_EQ(made->classes, 45);
}

TEST_F(Wordnet, FeaturesHoldLemmasAndGlossWithoutSyntacticMarkers) {
  const auto made = graph();
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::vector<float> noun(32);
  add_hashed_words("entity whole thing that which exists", noun);
  normalise_row(noun);
  EXPECT_EQ(row_of(made.value(), 0), noun);
  std::vector<float> adjective(32);
  add_hashed_words("galore in abundance", adjective);
  normalise_row(adjective);
  EXPECT_EQ(row_of(made.value(), 3), adjective);
}

TEST_F(Wordnet, NamesThePackageWhenFilesAreAbsent) {
  std::filesystem::remove(folder_->path() / "data.adv");
  const auto made = graph();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Errc::kNotFound);
  EXPECT_THAT(made.error().message, HasSubstr("wordnet-base"));
  EXPECT_THAT(made.error().message, HasSubstr("data.adv"));
}

TEST_F(Wordnet, NamesFileAndLineOfWhatDoesNotParse) {
  for (const char* bad :
       {"x", "00000017 03 n 01 entity 0 002 ~ 00000017 n 0000 | one pointer missing",
        "00000017 45 n 01 entity 0 000 | lexicographer file out of range",
        "00000017 03 v 01 entity 0 000 | a verb among nouns", "00000017 03 n zz entity 0 000 | words",
        "00000017 03 n 00 000 | no words", "99999999999999999999 03 n 01 entity 0 000 | offset"}) {
    write("data.noun", std::string("  licence\n") + bad + "\n");
    const auto made = graph();
    ASSERT_FALSE(made.ok()) << bad;
    EXPECT_EQ(made.error().code, Errc::kInvalidData);
    EXPECT_THAT(made.error().message, HasSubstr("data.noun:2: ")) << bad;
  }
}

TEST_F(Wordnet, RefusesARepeatedSynsetAndADanglingPointer) {
  write("data.noun", std::string(kNoun) + "00000099 05 n 01 again 0 000 | twice\n");
  EXPECT_THAT(graph().error().message, HasSubstr("data.noun:4: "));
  write("data.noun", kNoun);
  write("data.verb", "00000017 29 v 01 be 0 001 + 00000018 n 0201 01 + 02 00 | exist  \n");
  EXPECT_THAT(graph().error().message, HasSubstr("data.verb:1: pointer to synset 00000018 n"));
}

TEST(WordnetOfThisSystem, HasTheKnownCounts) {
  if (!std::filesystem::exists("/usr/share/wordnet/data.noun")) {
    GTEST_SKIP() << "Debian's package wordnet-base is not installed";
  }
  GeneratorOptions options;
  options.features = 8;
  const auto made = generate_graph("wordnet", options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->labels.size(), 117'659U);
  EXPECT_EQ(made->indices.size(), 2U * 183'789U);
  EXPECT_EQ(std::set<std::int64_t>(made->labels.begin(), made->labels.end()).size(), 45U);
  EXPECT_EQ(made->train.size() + made->val.size() + made->test.size(), 117'659U);
  EXPECT_NEAR(static_cast<double>(made->train.size()) / 117'659, 0.6, 0.01);
}

}  // namespace
}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/hostlist.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> expand(std::string_view text) {
  const Result<std::vector<std::string>> names = expand_hostlist(text);
  EXPECT_TRUE(names.ok()) << text;
  return names.ok() ? *names : std::vector<std::string>();
}

std::string hostlist_failure(std::string_view text) {
  const Result<std::vector<std::string>> names = expand_hostlist(text);
  return names.ok() ? "none" : names.error().message;
}

TEST(ExpandHostlist, KeepsOrderAndWidth) {
  EXPECT_THAT(expand("gpu-a[01-03,07],x"), ElementsAre("gpu-a01", "gpu-a02", "gpu-a03", "gpu-a07", "x"));
  EXPECT_THAT(expand("n[9-11]"), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(expand("[1101-1102]"), ElementsAre("1101", "1102"));
  EXPECT_THAT(expand("b[1-2]x[3-4]-ib"), ElementsAre("b1x3-ib", "b1x4-ib", "b2x3-ib", "b2x4-ib"));
  EXPECT_THAT(expand("b2,a1,b2"), ElementsAre("b2", "a1", "b2"));
}

TEST(ExpandHostlist, RefusesWhatIsNone) {
  EXPECT_THAT(hostlist_failure(""), HasSubstr("an empty name"));
  EXPECT_THAT(hostlist_failure("a,,b"), HasSubstr("an empty name"));
  EXPECT_THAT(hostlist_failure("a,"), HasSubstr("an empty name"));
  EXPECT_THAT(hostlist_failure("a[1-2"), HasSubstr("brackets do not match: 'a[1-2'"));
  EXPECT_THAT(hostlist_failure("a1-2]"), HasSubstr("brackets do not match"));
  EXPECT_THAT(hostlist_failure("a[1[2]]"), HasSubstr("brackets do not match"));
  EXPECT_THAT(hostlist_failure("a[]"), HasSubstr("not NUMBER"));
  EXPECT_THAT(hostlist_failure("a[1-]"), HasSubstr("not NUMBER"));
  EXPECT_THAT(hostlist_failure("a[-1]"), HasSubstr("not NUMBER"));
  EXPECT_THAT(hostlist_failure("a[x-z]"), HasSubstr("not NUMBER"));
  EXPECT_THAT(hostlist_failure("a[1-2-3]"), HasSubstr("not NUMBER"));
  EXPECT_THAT(hostlist_failure("a[5-4]"), HasSubstr("backwards: '5-4'"));
}

TEST(ExpandHostlist, RefusesBombsBeforeMakingThem) {
  EXPECT_THAT(hostlist_failure("a[1-999999999]"), HasSubstr("more than 4194304 names"));
  EXPECT_THAT(hostlist_failure("a[1-99999999999999999999999]"), HasSubstr("too long"));
  EXPECT_THAT(hostlist_failure("a[0-999999999999999999]"), HasSubstr("more than"));
  EXPECT_THAT(hostlist_failure("a[1-4000]b[1-4000]"), HasSubstr("too many names"));
  EXPECT_THAT(hostlist_failure("a[1-4000]b[1-4000]c[1-4000]d[1-4000]e[1-4000]f[1-4000]"),
              HasSubstr("too many names"));
  EXPECT_THAT(hostlist_failure("a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]"), HasSubstr("too many brackets"));
  EXPECT_THAT(hostlist_failure(std::string(300, 'a')), HasSubstr("more than 255 characters"));
  const Result<std::vector<std::string>> limited = expand_hostlist("a[1-3],b[1-3]", 5);
  ASSERT_FALSE(limited.ok());
}

TEST(CompressHostlist, WritesRangesWhereNeighboursCountUp) {
  const auto compress = [](std::vector<std::string> names) { return compress_hostlist(names); };
  EXPECT_EQ(compress({"gpu-a01", "gpu-a02", "gpu-a03", "gpu-a07", "b1"}), "gpu-a[01-03,07],b1");
  EXPECT_EQ(compress({"n8", "n9", "n10"}), "n[8-10]");
  EXPECT_EQ(compress({"n09", "n10"}), "n[09-10]");
  EXPECT_EQ(compress({"n1-ib", "n2-ib", "n4-eth"}), "n[1-2]-ib,n4-eth");
  EXPECT_EQ(compress({"b", "a"}), "b,a");
  EXPECT_EQ(compress({"n2", "n1"}), "n[2,1]");
  EXPECT_EQ(compress({}), "");
}

TEST(CompressHostlist, IsUndoneByExpansion) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> names;
    const auto count = 1 + random() % 12;
    for (unsigned i = 0; i < count; ++i) {
      std::string digits = std::to_string(random() % 4 == 0 ? random() % 1200 : 95 + i);
      if (random() % 3 == 0) {
        digits.insert(0, random() % 3, '0');
      }
      names.push_back((random() % 5 == 0 ? "x" : "n") + digits + (random() % 7 == 0 ? "-ib" : ""));
    }
    EXPECT_EQ(expand(compress_hostlist(names)), names) << compress_hostlist(names);
  }
}

}  // namespace
}  // namespace rudder::place

// SPDX-License-Identifier: Apache-2.0
// The memory finds what is most similar, forgets the oldest, keeps action sets apart, and keeps everything of
// an experience, on disk as in memory.
#include "rudder/steer/memory.h"

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"

#include "steer/experiences.h"

namespace rudder::steer {
namespace {

using testing::HasSubstr;
using testing_support::drawn_experience;
using testing_support::expect_equal;
using testing_support::four_knobs;

enum class Place : std::uint8_t { kMemory, kFile };

class Memories : public testing::TestWithParam<Place> {
 protected:
  [[nodiscard]] std::unique_ptr<Memory> open(std::size_t limit = 1000) const {
    auto memory = Memory::open(GetParam() == Place::kFile ? folder_.path() / "store" : "", limit);
    EXPECT_TRUE(memory.ok()) << memory.error().message;
    return std::move(memory).value();
  }
  TemporaryDirectory folder_ = TemporaryDirectory::create("rudder-memory").value();
  ActionSet yes_no_ = replace_actions();
  ActionSet knobs_ = four_knobs();
};

TEST_P(Memories, ExperiencesComeBackWhole) {
  const auto memory = open();
  std::vector<Experience> added;
  for (std::uint64_t i = 0; i < 40; ++i) {
    added.push_back(drawn_experience(i % 2 == 0 ? yes_no_ : knobs_, i));
    ASSERT_TRUE(memory->add(added.back()).ok());
  }
  const auto even = memory->all(yes_no_);
  const auto odd = memory->all(knobs_);
  ASSERT_TRUE(even.ok() && odd.ok());
  ASSERT_EQ(even->size(), 20U);
  ASSERT_EQ(odd->size(), 20U);
  for (std::size_t i = 0; i < 40; ++i) {
    expect_equal((i % 2 == 0 ? *even : *odd)[i / 2], added[i]);
  }
}

TEST_P(Memories, GraphsAreToldApart) {
  const auto memory = open();
  std::vector<Experience> wanted;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const Experience each = drawn_experience(yes_no_, i);
    ASSERT_TRUE(memory->add(each).ok());
    if (each.graph == "graph1") {
      wanted.push_back(each);
    }
  }
  const auto found = memory->all(yes_no_, "graph1").value();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    expect_equal(found[i], wanted[i]);
  }
  EXPECT_TRUE(memory->all(yes_no_, "graph9").value().empty());
}

TEST_P(Memories, TheNearestAreThoseOfASortByHand) {
  const auto memory = open();
  std::vector<Experience> added;
  for (std::uint64_t i = 0; i < 200; ++i) {
    Experience each = drawn_experience(knobs_, i);
    if (i % 10 == 9) {
      each.features = added[i - 5].features;  // equally similar: the newer one first
    }
    added.push_back(each);
    ASSERT_TRUE(memory->add(each).ok());
    ASSERT_TRUE(memory->add(drawn_experience(yes_no_, i)).ok());  // of no concern
  }
  for (const std::string except : {"", "run2"}) {
    for (std::uint64_t question = 0; question < 20; ++question) {
      const Features features = drawn_experience(knobs_, 1000 + question).features;
      std::vector<Experience> sorted;
      std::copy_if(added.rbegin(), added.rend(), std::back_inserter(sorted),
                   [&](const Experience& each) { return each.run != except; });
      std::stable_sort(sorted.begin(), sorted.end(), [&](const Experience& a, const Experience& b) {
        return similarity(a.features, features) > similarity(b.features, features);
      });
      const auto near = memory->nearest(knobs_, features, 7, except);
      ASSERT_TRUE(near.ok()) << near.error().message;
      ASSERT_EQ(near->size(), 7U);
      for (std::size_t i = 0; i < 7; ++i) {
        expect_equal((*near)[i], sorted[i]);
      }
    }
  }
  EXPECT_EQ(memory->nearest(knobs_, {}, 1000).value().size(), 200U);
  EXPECT_TRUE(memory->nearest(knobs_, {}, 0).value().empty());
}

TEST_P(Memories, OnlyTheNewestOfEachActionSetAreKept) {
  const auto memory = open(10);
  for (std::uint64_t i = 0; i < 35; ++i) {
    Experience each = drawn_experience(yes_no_, i);
    each.sequence = i;
    ASSERT_TRUE(memory->add(each).ok());
    ASSERT_EQ(memory->all(yes_no_).value().size(), std::min<std::size_t>(i + 1, 10));
    if (i < 4) {
      ASSERT_TRUE(memory->add(drawn_experience(knobs_, i)).ok());
    }
  }
  const auto kept = memory->all(yes_no_).value();
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(kept[i].sequence, 25 + i);
  }
  EXPECT_EQ(memory->all(knobs_).value().size(), 4U) << "the other set has its own limit";
}

TEST_P(Memories, SetsOfOneNameWithOtherSettingsAreNotMixed) {
  const ActionSet deeper = knob_actions({.policies = {"lookahead"},
                                         .depths = {2, 4},
                                         .prefetch_bytes_per_second = {0, 1e6},
                                         .slot_shares = {0.5}})
                               .value();
  ASSERT_EQ(deeper.name, knobs_.name);
  ASSERT_EQ(deeper.actions[0].name, knobs_.actions[0].name);
  EXPECT_NE(deeper.key(), knobs_.key());
  const auto memory = open();
  ASSERT_TRUE(memory->add(drawn_experience(knobs_, 1)).ok());
  EXPECT_TRUE(memory->all(deeper).value().empty());
  EXPECT_TRUE(memory->nearest(deeper, {}, 5).value().empty());
}

TEST_P(Memories, WhatCannotBeRightIsRefusedAndNotAdded) {
  const auto memory = open();
  const auto refuses = [&](const std::function<void(Experience&)>& spoil, const std::string& message) {
    Experience each = drawn_experience(yes_no_, 1);
    each.decision = Decision{};
    spoil(each);
    const Status status = memory->add(each);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_EQ(status.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(status.error().message, HasSubstr(message));
    EXPECT_THAT(status.error().message, HasSubstr(std::to_string(each.sequence)));
  };
  refuses([](Experience& each) { each.features[3] = std::numeric_limits<float>::quiet_NaN(); }, "not finite");
  refuses([](Experience& each) { each.costs[0] = std::numeric_limits<double>::infinity(); }, "not finite");
  refuses([](Experience& each) { each.costs[0] = -1; }, "negative");
  refuses([](Experience& each) { each.costs.clear(); }, "best of 0 costs");
  refuses([](Experience& each) { each.costs.assign(kMaxActions + 1, 1); }, "best of 17 costs");
  refuses([](Experience& each) { each.best = 2; }, "number 2");
  refuses([](Experience& each) { each.graph.assign(257, 'g'); }, "257 bytes");
  refuses([](Experience& each) { each.action_set = "replace"; }, "'replace'");
  refuses([](Experience& each) { each.decision->action = 2; }, "action 2 of 2");
  refuses([](Experience& each) { each.decision->confidence = std::numeric_limits<double>::quiet_NaN(); },
          "confidence nan");
  refuses([](Experience& each) { each.decision->reason.assign(5000, 'r'); }, "a reason of 5000 bytes");
  EXPECT_TRUE(memory->all(yes_no_).value().empty());
}

TEST_P(Memories, BytesThatAreNoTextDoNoHarm) {
  const auto memory = open();
  Experience each = drawn_experience(yes_no_, 2);
  each.run = "run'; DROP TABLE experience; --\xff";
  each.decision = Decision{.reason = "\xff\xfe nothing"};
  ASSERT_TRUE(memory->add(each).ok());
  const auto found = memory->all(yes_no_).value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].run, each.run);
  EXPECT_THAT(found[0].decision->reason, HasSubstr("nothing"));
}

TEST_P(Memories, ThreadsMayShareOne) {
  const auto memory = open(100'000);
  std::vector<std::jthread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 50; ++i) {
        EXPECT_TRUE(memory->add(drawn_experience(yes_no_, thread * 1000 + i)).ok());
        EXPECT_TRUE(memory->nearest(yes_no_, {}, 3).ok());
      }
    });
  }
  threads.clear();
  EXPECT_EQ(memory->all(yes_no_).value().size(), 200U);
}

INSTANTIATE_TEST_SUITE_P(All, Memories, testing::Values(Place::kMemory, Place::kFile), [](const auto& each) {
  return each.param == Place::kFile ? "InAFile" : "InMemory";
});

TEST(Memory, ALimitOfNoneIsRefused) {
  const auto memory = Memory::open("", 0);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace rudder::steer

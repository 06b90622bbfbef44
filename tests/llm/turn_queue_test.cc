// SPDX-License-Identifier: Apache-2.0
#include "llm/turn_queue.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::llm {
namespace {

using ::testing::ElementsAre;

std::vector<int> drain(TurnQueue<int>& queue) {
  std::vector<int> order;
  for (auto item = queue.next(); item; item = queue.next()) {
    order.push_back(*item);
  }
  return order;
}

TEST(TurnQueue, JobsTakeTurnsWhateverTheyAsk) {
  TurnQueue<int> queue(10);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(queue.push("greedy", i));
  }
  EXPECT_TRUE(queue.push("modest", 10));
  EXPECT_TRUE(queue.push("modest", 11));
  EXPECT_TRUE(queue.push("late", 20));
  EXPECT_EQ(queue.size(), 7U);
  EXPECT_THAT(drain(queue), ElementsAre(0, 10, 20, 1, 11, 2, 3));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(TurnQueue, AJobThatWasServedWaitsBehindTheOthers) {
  TurnQueue<int> queue(10);
  EXPECT_TRUE(queue.push("a", 1));
  EXPECT_TRUE(queue.push("a", 2));
  EXPECT_TRUE(queue.push("b", 3));
  EXPECT_EQ(queue.next(), 1);
  EXPECT_TRUE(queue.push("c", 4));
  EXPECT_THAT(drain(queue), ElementsAre(3, 2, 4));
}

TEST(TurnQueue, EachJobHasABoundOfItsOwn) {
  TurnQueue<int> queue(2);
  EXPECT_TRUE(queue.push("a", 1));
  EXPECT_TRUE(queue.push("a", 2));
  EXPECT_FALSE(queue.push("a", 3));
  EXPECT_TRUE(queue.push("b", 4));
  EXPECT_EQ(queue.next(), 1);
  EXPECT_TRUE(queue.push("a", 5));
  EXPECT_THAT(drain(queue), ElementsAre(4, 2, 5));
}

TEST(TurnQueue, WhatIsRemovedTakesNoTurn) {
  TurnQueue<int> queue(10);
  EXPECT_TRUE(queue.push("a", 1));
  EXPECT_TRUE(queue.push("b", 2));
  EXPECT_TRUE(queue.push("b", 3));
  EXPECT_TRUE(queue.remove("a", 1));
  EXPECT_FALSE(queue.remove("a", 1));
  EXPECT_FALSE(queue.remove("b", 9));
  EXPECT_FALSE(queue.remove("nobody", 1));
  EXPECT_THAT(drain(queue), ElementsAre(2, 3));
}

}  // namespace
}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
#include "llm/prefix_slots.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rudder::llm {
namespace {

constexpr std::size_t kChunk = 4;
using Tokens = std::vector<std::int32_t>;

Tokens range(std::int32_t begin, std::int32_t end) {
  Tokens tokens(static_cast<std::size_t>(end - begin));
  std::iota(tokens.begin(), tokens.end(), begin);
  return tokens;
}

/// As a model does: takes what is kept and computes the rest in chunks.
PrefixSlots::Found compute(PrefixSlots& slots, const std::string& job, const Tokens& prompt) {
  const PrefixSlots::Found found = slots.begin(job, prompt);
  for (std::size_t at = found.kept; at < prompt.size(); at += kChunk) {
    slots.computed(found.slot, std::span(prompt).subspan(at, std::min(kChunk, prompt.size() - at)));
  }
  return found;
}

TEST(PrefixSlots, KeepWholeChunksOfACommonBeginning) {
  PrefixSlots slots(1, kChunk);
  EXPECT_EQ(compute(slots, "a", range(0, 10)).kept, 0U);
  Tokens other = range(0, 10);
  other[7] = 99;
  EXPECT_EQ(compute(slots, "a", other).kept, 4U);
  EXPECT_EQ(compute(slots, "a", other).kept, 8U);
  EXPECT_EQ(compute(slots, "a", range(0, 10)).kept, 4U) << "what the other prompt replaced is gone";
  EXPECT_EQ(compute(slots, "a", range(50, 60)).kept, 0U);
}

TEST(PrefixSlots, LeaveOneTokenToCompute) {
  PrefixSlots slots(1, kChunk);
  compute(slots, "a", range(0, 8));
  EXPECT_EQ(compute(slots, "a", range(0, 8)).kept, 4U);
  EXPECT_EQ(compute(slots, "a", range(0, 9)).kept, 8U);
  EXPECT_EQ(compute(slots, "a", range(0, 1)).kept, 0U);
}

TEST(PrefixSlots, APromptsTailIsNeverKept) {
  PrefixSlots slots(1, kChunk);
  compute(slots, "a", range(0, 7));
  EXPECT_EQ(compute(slots, "a", range(0, 20)).kept, 4U);
}

TEST(PrefixSlots, JobsHaveSlotsOfTheirOwnUntilThereAreTooMany) {
  PrefixSlots slots(2, kChunk);
  const std::size_t a = compute(slots, "a", range(0, 10)).slot;
  const std::size_t b = compute(slots, "b", range(0, 10)).slot;
  EXPECT_NE(a, b);
  EXPECT_EQ(compute(slots, "a", range(0, 10)).kept, 8U);
  const auto c = compute(slots, "c", range(0, 10));
  EXPECT_EQ(c.slot, b) << "a asked last";
  EXPECT_EQ(c.kept, 0U);
  EXPECT_EQ(compute(slots, "a", range(0, 10)).kept, 8U);
  EXPECT_EQ(compute(slots, "b", range(0, 10)).slot, c.slot);
}

TEST(PrefixSlots, WhatIsForgottenOrWasNotComputedIsNotKept) {
  PrefixSlots slots(1, kChunk);
  const auto found = slots.begin("a", range(0, 12));
  slots.computed(found.slot, range(0, 4));  // then the call ended
  EXPECT_EQ(slots.begin("a", range(0, 12)).kept, 4U);
  slots.forget(found.slot);
  EXPECT_EQ(slots.begin("a", range(0, 12)).kept, 0U);
}

}  // namespace
}  // namespace rudder::llm

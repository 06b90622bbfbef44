// SPDX-License-Identifier: Apache-2.0
#include "sample/select.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/chi_square.h"

namespace rudder::sample {
namespace {

using test::uniformity_z;

/// Beyond this many standard deviations a test fails. All seeds are fixed, so it cannot fail by chance later.
constexpr double kLimit = 4.0;

std::vector<std::uint64_t> draw(Selector& selector, std::uint64_t key, std::uint64_t degree,
                                std::uint64_t count) {
  std::vector<std::uint64_t> picks(count);
  selector.choose(CounterRng{17, key}, degree, count, picks.data());
  return picks;
}

struct Size {
  std::uint64_t degree;
  std::uint64_t count;
};

std::string text_of(const Size& size) {
  return std::to_string(size.count) + " of " + std::to_string(size.degree);
}

/// Below, at and above every border between the ways of recognising taken positions, and the degrees at which
/// samplers with narrow random numbers went wrong.
constexpr Size kCountable[] = {{2, 1},         {9, 8},       {10, 9},      {11, 10},     {20, 10},
                               {21, 10},       {63, 25},     {64, 1},      {64, 32},     {64, 63},
                               {65, 1},        {65, 64},     {100, 64},    {511, 10},    {512, 10},
                               {513, 10},      {1000, 999},  {4159, 65},   {4160, 65},   {4224, 65},
                               {32'767, 10},   {32'768, 25}, {32'769, 10}, {40'000, 10}, {40'000, 500},
                               {40'000, 1000}, {65'535, 10}, {65'536, 1},  {65'537, 10}};
constexpr Size kHuge[] = {
    {(1ULL << 32) - 1, 10}, {(1ULL << 32) + 1, 10}, {(1ULL << 33) + 5, 25}, {(1ULL << 40) + 1, 70}};

void expect_distinct_and_keyed(const Size& size) {
  const auto [degree, count] = size;
  Selector first;
  Selector second;
  for (std::uint64_t key = 0; key < 50; ++key) {
    const std::vector<std::uint64_t> picks = draw(first, key, degree, count);
    ASSERT_EQ(std::set<std::uint64_t>(picks.begin(), picks.end()).size(), count)
        << text_of(size) << ", key " << key;
    ASSERT_LT(*std::max_element(picks.begin(), picks.end()), degree) << text_of(size) << ", key " << key;
    draw(second, key + 1, 2 * degree, count);  // leaves other scratch contents behind
    ASSERT_EQ(draw(second, key, degree, count), picks) << text_of(size) << ", key " << key;
  }
}

TEST(Selector, DrawsDistinctPositionsInRangeThatDependOnTheKeyAlone) {
  for (const Size& size : kCountable) {
    expect_distinct_and_keyed(size);
  }
  for (const Size& size : kHuge) {
    expect_distinct_and_keyed(size);
  }
}

TEST(Selector, DrawsEveryPositionEquallyOften) {
  for (const Size& size : kCountable) {
    const auto [degree, count] = size;
    const std::uint64_t draws = std::max<std::uint64_t>(10 * degree / count, 2000);
    Selector selector;
    std::vector<std::uint64_t> counts(degree);
    for (std::uint64_t key = 0; key < draws; ++key) {
      for (const std::uint64_t pick : draw(selector, key, degree, count)) {
        ++counts[pick];
      }
    }
    EXPECT_LT(std::abs(uniformity_z(counts, draws, count)), kLimit) << text_of(size);
  }
}

// Degrees too large to count positions one by one: parts of the range and low bits find random numbers of too
// few bits, narrow types and modulo reduction.
TEST(Selector, FavoursNoPartOfAHugeNeighbourhoodAndNoLowBits) {
  for (const Size& size : kHuge) {
    const auto [degree, count] = size;
    constexpr std::uint64_t kDraws = 20'000;
    constexpr std::uint64_t kParts = 61;
    Selector selector;
    std::vector<std::uint64_t> by_part(kParts);
    std::vector<std::uint64_t> by_low_bits(64);
    for (std::uint64_t key = 0; key < kDraws; ++key) {
      for (const std::uint64_t pick : draw(selector, key, degree, count)) {
        ++by_part[static_cast<std::uint64_t>(static_cast<double>(pick) / static_cast<double>(degree) *
                                             kParts)];
        ++by_low_bits[pick % 64];
      }
    }
    EXPECT_LT(std::abs(uniformity_z(by_part, kDraws * count, 1)), kLimit) << text_of(size);
    EXPECT_LT(std::abs(uniformity_z(by_low_bits, kDraws * count, 1)), kLimit) << text_of(size);
  }
}

TEST(Selector, DrawsEverySubsetOfASmallNeighbourhoodEquallyOften) {
  for (const auto& [degree, count] : {Size{6, 3}, Size{11, 4}, Size{11, 7}, Size{11, 10}, Size{12, 6}}) {
    constexpr std::uint64_t kDraws = 60'000;
    Selector selector;
    std::map<std::vector<std::uint64_t>, std::uint64_t> subsets;
    for (std::uint64_t key = 0; key < kDraws; ++key) {
      std::vector<std::uint64_t> picks = draw(selector, key, degree, count);
      std::sort(picks.begin(), picks.end());
      ++subsets[picks];
    }
    double possible = 1;
    for (std::uint64_t i = 1; i <= count; ++i) {
      possible = possible * static_cast<double>(degree - count + i) / static_cast<double>(i);
    }
    std::vector<std::uint64_t> counts;
    for (const auto& [subset, times] : subsets) {
      counts.push_back(times);
    }
    ASSERT_EQ(static_cast<double>(counts.size()), possible) << degree << " choose " << count;
    EXPECT_LT(std::abs(uniformity_z(counts, kDraws, 1)), kLimit) << degree << " choose " << count;
  }
}

TEST(Selector, DrawsEveryPairEquallyOften) {
  for (const auto& [degree, count] :
       {Size{40, 10}, Size{63, 60}, Size{66, 10}, Size{70, 64}, Size{90, 80}, Size{100, 70}}) {
    constexpr std::uint64_t kDraws = 80'000;
    Selector selector;
    std::vector<std::uint64_t> counts(degree * (degree - 1) / 2);
    for (std::uint64_t key = 0; key < kDraws; ++key) {
      const std::vector<std::uint64_t> picks = draw(selector, key, degree, count);
      CounterRng rng{99, key};  // one pair a draw keeps the counts independent
      const std::uint64_t a = rng.below(count);
      const std::uint64_t b = (a + 1 + rng.below(count - 1)) % count;
      const std::uint64_t high = std::max(picks[a], picks[b]);
      ++counts[high * (high - 1) / 2 + std::min(picks[a], picks[b])];
    }
    EXPECT_LT(std::abs(uniformity_z(counts, kDraws, 1)), kLimit) << degree << " choose " << count;
  }
}

TEST(UniformityZ, FindsTheBiasOfSixteenBitsModuloTheDegree) {
  constexpr std::uint64_t kDegree = 40'000;
  CounterRng rng{5};
  std::vector<std::uint64_t> biased(kDegree);
  std::vector<std::uint64_t> fair(kDegree);
  for (std::uint64_t i = 0; i < 10 * kDegree; ++i) {
    ++biased[(rng() & 0xffff) % kDegree];
    ++fair[rng.below(kDegree)];
  }
  EXPECT_GT(uniformity_z(biased, 10 * kDegree, 1), 20);
  EXPECT_LT(std::abs(uniformity_z(fair, 10 * kDegree, 1)), kLimit);
}

}  // namespace
}  // namespace rudder::sample

// SPDX-License-Identifier: Apache-2.0
// Uniform subsets of positions, the inner step of neighbour sampling.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rudder/core/rng.h"

namespace rudder::sample {

/// Draws `count` distinct positions out of [0, degree), each subset equally likely, by Floyd's algorithm
/// (Bentley and Floyd 1987): one random number a position, whatever the degree. What differs by size is only
/// how a position is recognised as taken. Holds scratch memory: one object a thread.
class Selector {
 public:
  /// Writes the positions to out[0 .. count), in an order that is fixed but not random. 0 < count < degree.
  /// O(count).
  void choose(CounterRng rng, std::uint64_t degree, std::uint64_t count, std::uint64_t* out) {
    if (degree <= kWordBits) {
      choose_in_word(rng, degree, count, out);
    } else if (count <= kFilteredCount) {
      choose_filtered(rng, degree, count, out);
    } else if (degree / kWordBits <= count) {
      choose_in_bitmap(rng, degree, count, out);
    } else {
      choose_in_table(rng, degree, count, out);
    }
  }

 private:
  static constexpr std::uint64_t kWordBits = 64;
  static constexpr std::uint64_t kFilterBits = 512;
  /// Up to here a scan of all earlier picks, needed for about one pick in kFilterBits / count, stays cheap.
  static constexpr std::uint64_t kFilteredCount = 64;

  /// The taken set is one register. Above half of the degree the complement is drawn.
  static void choose_in_word(CounterRng rng, std::uint64_t degree, std::uint64_t count, std::uint64_t* out) {
    const bool invert = 2 * count > degree;
    std::uint64_t taken = 0;
    for (std::uint64_t last = invert ? count : degree - count; last < degree; ++last) {
      const std::uint64_t bit = std::uint64_t{1} << rng.below(last + 1);
      taken |= (taken & bit) != 0 ? std::uint64_t{1} << last : bit;
    }
    if (invert) {
      taken = ~taken & (~std::uint64_t{0} >> (kWordBits - degree));
    }
    for (; taken != 0; taken &= taken - 1) {
      *out++ = static_cast<std::uint64_t>(std::countr_zero(taken));
    }
  }

  /// A small filter over the low bits says "surely free" for nearly every pick; the rest scan the picks.
  static void choose_filtered(CounterRng rng, std::uint64_t degree, std::uint64_t count, std::uint64_t* out) {
    std::array<std::uint64_t, kFilterBits / kWordBits> filter{};
    std::uint64_t last = degree - count;
    for (std::uint64_t i = 0; i < count; ++i, ++last) {
      std::uint64_t pick = rng.below(last + 1);
      if (test_and_set(filter.data(), pick % kFilterBits)) [[unlikely]] {
        for (std::uint64_t k = 0; k < i; ++k) {
          if (out[k] == pick) {
            pick = last;
            test_and_set(filter.data(), pick % kFilterBits);
            break;
          }
        }
      }
      out[i] = pick;
    }
  }

  void choose_in_bitmap(CounterRng rng, std::uint64_t degree, std::uint64_t count, std::uint64_t* out);
  void choose_in_table(CounterRng rng, std::uint64_t degree, std::uint64_t count, std::uint64_t* out);

  /// Sets a bit and returns what it was.
  static bool test_and_set(std::uint64_t* words, std::uint64_t bit) {
    std::uint64_t& word = words[bit / kWordBits];
    const std::uint64_t mask = std::uint64_t{1} << (bit % kWordBits);
    const bool was = (word & mask) != 0;
    word |= mask;
    return was;
  }

  std::vector<std::uint64_t> words_;  ///< bitmap or open-addressing table of the large cases
};

}  // namespace rudder::sample

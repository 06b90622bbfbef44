// SPDX-License-Identifier: Apache-2.0
#include "sample/select.h"

#include <bit>

namespace rudder::sample {
namespace {

/// Inserts value + 1 (0 marks an empty place) and returns whether it was there. The table is a power of two
/// in size and at most half full.
bool insert(std::vector<std::uint64_t>& table, std::uint64_t value) {
  const std::uint64_t mask = table.size() - 1;
  for (std::uint64_t place = mix64(value) & mask;; place = (place + 1) & mask) {
    if (table[place] == value + 1) {
      return true;
    }
    if (table[place] == 0) {
      table[place] = value + 1;
      return false;
    }
  }
}

}  // namespace

void Selector::choose_in_bitmap(CounterRng rng, std::uint64_t degree, std::uint64_t count,
                                std::uint64_t* out) {
  words_.assign(degree / kWordBits + 1, 0);
  for (std::uint64_t last = degree - count; last < degree; ++last) {
    std::uint64_t pick = rng.below(last + 1);
    if (test_and_set(words_.data(), pick)) {
      pick = last;
      test_and_set(words_.data(), pick);
    }
    *out++ = pick;
  }
}

void Selector::choose_in_table(CounterRng rng, std::uint64_t degree, std::uint64_t count,
                               std::uint64_t* out) {
  words_.assign(std::bit_ceil(2 * count), 0);
  for (std::uint64_t last = degree - count; last < degree; ++last) {
    std::uint64_t pick = rng.below(last + 1);
    if (insert(words_, pick)) {
      pick = last;
      insert(words_, pick);
    }
    *out++ = pick;
  }
}

}  // namespace rudder::sample

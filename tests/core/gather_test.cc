// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/gather.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/aligned.h"
#include "rudder/core/rng.h"

namespace rudder {
namespace {

constexpr std::byte kGuard{0xa5};

/// Rows copied one byte at a time, then guard bytes that must stay.
std::vector<std::byte> expected_rows(std::span<const std::byte> table, std::size_t row_bytes,
                                     std::span<const std::uint32_t> rows) {
  std::vector<std::byte> result;
  for (const std::uint32_t row : rows) {
    for (std::size_t k = 0; k < row_bytes; ++k) {
      result.push_back(table[row * row_bytes + k]);
    }
  }
  result.insert(result.end(), 64, kGuard);
  return result;
}

TEST(GatherRows, CopiesExactlyTheRowsAskedForAtAnyWidth) {
  constexpr std::size_t kTableRows = 300;
  CounterRng rng{3};
  for (const std::size_t row_bytes :
       {0U, 1U, 3U, 4U, 63U, 64U, 65U, 100U, 128U, 512U, 1000U, 1433U, 4096U, 5001U}) {
    std::vector<std::byte> table(kTableRows * row_bytes);
    for (std::byte& byte : table) {
      byte = static_cast<std::byte>(rng() >> 56);
    }
    for (const std::size_t count : {0U, 1U, 2U, 31U, 32U, 33U, 500U}) {
      std::vector<std::uint32_t> rows(count);
      std::vector<NodeId> wide_rows(count);
      std::vector<const std::byte*> sources(count);
      for (std::size_t i = 0; i < count; ++i) {
        rows[i] = static_cast<std::uint32_t>(rng.below(kTableRows));
        wide_rows[i] = rows[i];
        sources[i] = table.data() + rows[i] * row_bytes;
      }
      const std::vector<std::byte> expected = expected_rows(table, row_bytes, rows);
      std::vector<std::byte> out(expected.size(), kGuard);
      gather_rows(table, row_bytes, std::span<const std::uint32_t>(rows), out.data());
      EXPECT_EQ(out, expected) << count << " rows of " << row_bytes << " bytes";
      out.assign(out.size(), kGuard);
      gather_rows(table, row_bytes, std::span<const NodeId>(wide_rows), out.data());
      EXPECT_EQ(out, expected) << count << " rows of " << row_bytes << " bytes, 64-bit indices";
      out.assign(out.size(), kGuard);
      gather_rows(sources, row_bytes, out.data());
      EXPECT_EQ(out, expected) << count << " rows of " << row_bytes << " bytes, by address";
    }
  }
}

TEST(GatherRows, CopiesBlocksTooLargeForTheCaches) {
  constexpr std::size_t kRowBytes = 208;
  constexpr std::size_t kTableRows = 5000;
  constexpr std::size_t kCount = (std::size_t{16} << 20) / kRowBytes + 100;
  CounterRng rng{4};
  std::vector<std::byte> table(kTableRows * kRowBytes);
  for (std::byte& byte : table) {
    byte = static_cast<std::byte>(rng() >> 56);
  }
  std::vector<std::uint32_t> rows(kCount);
  for (std::uint32_t& row : rows) {
    row = static_cast<std::uint32_t>(rng.below(kTableRows));
  }
  std::vector<std::byte> expected = expected_rows(table, kRowBytes, rows);
  AlignedBytes out(expected.size() + 16);
  for (const std::size_t offset : {0U, 8U, 16U}) {  // also where the block's alignment allows no streaming
    std::memset(out.data(), static_cast<int>(kGuard), out.size());
    gather_rows(table, kRowBytes, std::span<const std::uint32_t>(rows), out.data() + offset);
    EXPECT_EQ(std::memcmp(out.data() + offset, expected.data(), expected.size()), 0) << "offset " << offset;
  }
}

}  // namespace
}  // namespace rudder

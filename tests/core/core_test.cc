// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/dtype.h"
#include "rudder/core/files.h"
#include "rudder/core/ids.h"
#include "rudder/core/machine.h"
#include "rudder/core/result.h"
#include "rudder/core/rng.h"
#include "rudder/core/sha256.h"
#include "rudder/core/text.h"

namespace rudder {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) {
    return Error{Errc::kInvalidArgument, "odd"};
  }
  return value / 2;
}

Result<int> quarter(int value) {
  RUDDER_ASSIGN(const int once, half(value));
  RUDDER_ASSIGN(const int twice, half(once));
  return twice;
}

TEST(Result, PassesErrorsThrough) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_EQ(quarter(6).error().in("file").message, "file: odd");
}

TEST(CounterRng, BelowIsUniformForAwkwardBounds) {
  for (const std::uint64_t bound : {3ULL, 10ULL, 40'000ULL, (1ULL << 16) + 1}) {
    CounterRng rng({1, bound});
    constexpr int kBins = 3;
    std::array<double, kBins> counts{};
    constexpr int kDraws = 90'000;
    for (int i = 0; i < kDraws; ++i) {
      const std::uint64_t draw = rng.below(bound);
      ASSERT_LT(draw, bound);
      ++counts[draw % kBins];
    }
    double chi = 0;
    for (std::uint64_t bin = 0; bin < kBins; ++bin) {
      const double share =
          static_cast<double>(bound / kBins + (bin < bound % kBins ? 1 : 0)) / static_cast<double>(bound);
      chi += std::pow(counts[bin] - kDraws * share, 2) / (kDraws * share);
    }
    EXPECT_LT(chi, 13.8) << "bound " << bound;  // p = .001 with 2 degrees of freedom
  }
}

TEST(CounterRng, KeysDependOnOrder) {
  EXPECT_NE(stream_key({1, 2}), stream_key({2, 1}));
  EXPECT_NE(stream_key({0}), stream_key({0, 0}));
}

TEST(DType, HalfRoundTripsEveryBitPattern) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half_bits = static_cast<std::uint16_t>(bits);
    const float wide = f16_to_f32(half_bits);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide))));
    } else {
      ASSERT_EQ(f32_to_f16(wide), half_bits) << bits;
    }
  }
  EXPECT_EQ(f32_to_f16(65519.996F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(1.0F + 0x1.0p-11F), 0x3C00);  // a tie goes to the even neighbour
  EXPECT_EQ(f32_to_bf16(1.0F + 0x1.8p-7F), 0x3F82);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  auto directory = TemporaryDirectory::create("core-test");
  ASSERT_TRUE(directory.ok());
  const auto path = directory->path() / "file";
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("abc").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory->path()));
  ASSERT_TRUE(write_text(path, "text").ok());
  EXPECT_EQ(read_text(path).value(), "text");
  EXPECT_EQ(read_text(path, 3).error().code, Errc::kInvalidData);
  EXPECT_EQ(read_text(directory->path() / "absent").error().code, Errc::kNotFound);
  EXPECT_EQ(MappedFile::open(directory->path()).error().code, Errc::kInvalidData);
}

TEST(Sha256, MatchesTheStandardVector) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span("abc", 3)));
  EXPECT_EQ(hash.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Text, ControlCharactersAreShownNotSent) {
  EXPECT_EQ(printable("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable("red \x1b[31m\r\x7f"), "red \\x1b[31m\\x0d\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("größe"), "größe");
  EXPECT_EQ(printable("a\u202Etxt.\u2066"), "a\\u202etxt.\\u2066");
  EXPECT_EQ(printable("cut \xE2\x80"), "cut \xE2\x80");
}

TEST(OneLine, KeepsTextAndBlanksControlCharacters) {
  EXPECT_EQ(one_line("größe 大 𝄞", 100), "größe 大 𝄞");
  EXPECT_EQ(one_line("a\tb\r\nc\x1b[31m\x7f", 100), "a b  c [31m ");
  EXPECT_EQ(one_line("a\xC2\x85\xE2\x80\xA8\xE2\x80\xA9z", 100), "a   z");  // U+0085, U+2028, U+2029
  EXPECT_EQ(one_line(std::string_view("\0", 1), 100), " ");
}

TEST(OneLine, ReplacesWhatIsNoUtf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(one_line("\xFF", 100), bad);
  EXPECT_EQ(one_line("\xC3", 100), bad);
  EXPECT_EQ(one_line("\xC3(", 100), bad + "(");
  EXPECT_EQ(one_line("\xC0\xAF", 100), bad + bad);                      // overlong
  EXPECT_EQ(one_line("\xE0\x80\xAF", 100), bad + bad + bad);            // overlong
  EXPECT_EQ(one_line("\xED\xA0\x80", 100), bad + bad + bad);            // a surrogate
  EXPECT_EQ(one_line("\xF4\x90\x80\x80", 100), bad + bad + bad + bad);  // beyond U+10FFFF
  EXPECT_EQ(one_line("\xF0\x9D\x84", 100), bad + bad + bad);            // cut short
}

TEST(OneLine, CutsBetweenCharacters) {
  EXPECT_EQ(one_line("aö", 2), "a");
  EXPECT_EQ(one_line("aö", 3), "aö");
  EXPECT_EQ(one_line("\xFF", 2), "");
  EXPECT_EQ(one_line("abc", 0), "");
}

TEST(OneLine, IsItsOwnLine) {
  CounterRng rng({17});
  for (int i = 0; i < 5000; ++i) {
    std::string bytes(rng.below(40), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(rng.below(256));
    }
    const std::size_t limit = rng.below(60);
    const std::string line = one_line(bytes, limit);
    EXPECT_LE(line.size(), limit);
    EXPECT_EQ(one_line(line, limit), line);
  }
}

TEST(Text, ParsesRatesAndNames) {
  EXPECT_DOUBLE_EQ(parse_bit_rate("200Mbit").value(), 2e8);
  EXPECT_DOUBLE_EQ(parse_bit_rate("1.5gbit").value(), 1.5e9);
  EXPECT_DOUBLE_EQ(parse_bit_rate("none").value(), 0);
  for (const char* bad : {"", "200", "Mbit", "-1Mbit", "0Mbit", "1e400Mbit", "nanMbit", "200 Mbit"}) {
    EXPECT_FALSE(parse_bit_rate(bad).ok()) << bad;
  }
  const std::array<std::string_view, 3> names = {"lookahead", "lru", "lfu"};
  EXPECT_EQ(nearest_name("lokahead", names), "lookahead");
  EXPECT_EQ(nearest_name("quite-different", names), "");
  EXPECT_FALSE(parse_int("12x").has_value());
  EXPECT_EQ(parse_int("-12"), -12);
}

TEST(Machine, KnowsItself) {
  EXPECT_GE(this_machine().cores, 1U);
  EXPECT_GT(this_machine().memory_bytes, std::size_t{1} << 20);
  EXPECT_GT(peak_rss_bytes(), 0U);
}

TEST(IdsDeathTest, NarrowAbortsOnOverflow) {
  EXPECT_EQ(narrow<std::uint32_t>(std::int64_t{7}), 7U);
  EXPECT_DEATH(static_cast<void>(narrow<std::uint32_t>(std::int64_t{-1})), "does not fit");
}

}  // namespace
}  // namespace rudder

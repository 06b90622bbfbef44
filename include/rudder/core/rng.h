// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: a stream is a pure function of its key, so results do not depend on threads,
// host count or order of arrival.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace rudder {

/// Bijective 64-bit finaliser of SplitMix64 (Stafford's variant 13).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Folds words into one stream key; order matters.
[[nodiscard]] constexpr std::uint64_t stream_key(std::initializer_list<std::uint64_t> words) noexcept {
  std::uint64_t key = 0x9e3779b97f4a7c15ULL;
  for (const std::uint64_t word : words) {
    key = mix64(key ^ word) + 0x9e3779b97f4a7c15ULL;
  }
  return key;
}

/// SplitMix64 from a hashed key. Meets UniformRandomBitGenerator, but prefer `below` and `unit`: the standard
/// distributions differ between libraries.
class CounterRng {
 public:
  using result_type = std::uint64_t;

  explicit constexpr CounterRng(std::uint64_t key) noexcept : state_(mix64(key)) {}
  explicit constexpr CounterRng(std::initializer_list<std::uint64_t> words) noexcept
      : CounterRng(stream_key(words)) {}

  constexpr std::uint64_t operator()() noexcept { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }

  /// Uniform in [0, bound), exactly (Lemire 2019, multiply and reject). bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>((*this)()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) [[unlikely]] {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < threshold) {
        product = static_cast<Wide>((*this)()) * bound;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Uniform in [0, 1), 53 bits.
  constexpr double unit() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

  static constexpr std::uint64_t min() noexcept { return 0; }
  static constexpr std::uint64_t max() noexcept { return ~std::uint64_t{0}; }

 private:
  std::uint64_t state_;
};

}  // namespace rudder

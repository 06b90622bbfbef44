// SPDX-License-Identifier: Apache-2.0
// What processes of one run know and nobody else: proofs of it instead of the secret itself travel.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/result.h"
#include "rudder/core/sha256.h"

namespace rudder {

/// Fills `out` from the system's random number generator.
void fill_random(std::span<std::byte> out);

/// In a time that depends on the sizes alone; false for different sizes.
[[nodiscard]] bool equal_in_constant_time(std::span<const std::byte> a,
                                          std::span<const std::byte> b) noexcept;

/// A key of 256 bits. Copies are wiped when they go.
class Secret {
 public:
  static constexpr std::size_t kBytes = 32;

  /// A new one, which nobody else knows.
  Secret();
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  /// From 64 hexadecimal digits. Errors do not hold the text.
  [[nodiscard]] static Result<Secret> parse(std::string_view hex);
  /// For handing on to another process of the run, through its environment or a file of the user's.
  [[nodiscard]] std::string hex() const;

  /// HMAC-SHA256 over the purpose and the parts, each with its length in front: different purposes or
  /// different cuts into parts never have the same text.
  [[nodiscard]] Sha256::Digest sign(std::string_view purpose,
                                    std::initializer_list<std::span<const std::byte>> parts) const;

 private:
  std::array<std::byte, kBytes> key_{};
};

}  // namespace rudder

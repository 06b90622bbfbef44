// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rudder {

/// Incremental SHA-256 (OpenSSL's).
class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  /// The digest of everything so far; the object may be updated further.
  [[nodiscard]] Digest digest() const;
  [[nodiscard]] std::string hex() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace rudder

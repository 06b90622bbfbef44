// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "rudder/core/check.h"

namespace rudder {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  RUDDER_CHECK(impl_->context != nullptr && EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1,
               "SHA-256 is not available");
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  RUDDER_CHECK(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1, "SHA-256 update failed");
}

Sha256::Digest Sha256::digest() const {
  const Impl copy;
  Digest digest{};
  unsigned length = 0;
  RUDDER_CHECK(EVP_MD_CTX_copy_ex(copy.context, impl_->context) == 1 &&
                   EVP_DigestFinal_ex(copy.context, digest.data(), &length) == 1 && length == digest.size(),
               "SHA-256 finish failed");
  return digest;
}

std::string Sha256::hex() const {
  return to_hex(digest());
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  }
  return text;
}

}  // namespace rudder

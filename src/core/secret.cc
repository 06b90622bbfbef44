// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/secret.h"

#include <cerrno>
#include <vector>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "rudder/core/check.h"

namespace rudder {
namespace {

int digit_value(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void append(std::vector<std::byte>& text, std::span<const std::byte> part) {
  for (std::size_t i = 0; i < 8; ++i) {
    text.push_back(static_cast<std::byte>(std::uint64_t{part.size()} >> (8 * i)));
  }
  text.insert(text.end(), part.begin(), part.end());
}

}  // namespace

void fill_random(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    RUDDER_CHECK(got > 0 || errno == EINTR, "getrandom() gives random bytes");
    out = out.subspan(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Secret::Secret() {
  fill_random(key_);
}

Secret::~Secret() {
  OPENSSL_cleanse(key_.data(), key_.size());
}

Result<Secret> Secret::parse(std::string_view hex) {
  Secret secret;
  if (hex.size() != 2 * kBytes) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} characters instead of {} hexadecimal digits", hex.size(), 2 * kBytes)};
  }
  for (std::size_t i = 0; i < kBytes; ++i) {
    const int high = digit_value(hex[2 * i]);
    const int low = digit_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return Error{
          Errc::kInvalidArgument,
          fmt::format("character {} or {} is no lower-case hexadecimal digit", 2 * i + 1, 2 * i + 2)};
    }
    secret.key_[i] = static_cast<std::byte>(16 * high + low);
  }
  return secret;
}

std::string Secret::hex() const {
  std::string text;
  for (const std::byte byte : key_) {
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(byte));
  }
  return text;
}

Sha256::Digest Secret::sign(std::string_view purpose,
                            std::initializer_list<std::span<const std::byte>> parts) const {
  std::vector<std::byte> text;
  append(text, std::as_bytes(std::span(purpose)));
  for (const std::span<const std::byte> part : parts) {
    append(text, part);
  }
  Sha256::Digest digest{};
  unsigned length = 0;
  RUDDER_CHECK(HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
                    &length) != nullptr &&
                   length == digest.size(),
               "HMAC-SHA256 is not available");
  return digest;
}

}  // namespace rudder

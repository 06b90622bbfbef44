// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/secret.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder {
namespace {

using testing::HasSubstr;
using testing::Not;

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Secret, NewOnesDiffer) {
  EXPECT_NE(Secret().hex(), Secret().hex());
}

TEST(Secret, ComesBackFromItsDigits) {
  const Secret secret;
  EXPECT_EQ(secret.hex().size(), 64U);
  const auto back = Secret::parse(secret.hex());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value().hex(), secret.hex());
}

TEST(Secret, OtherTextsAreErrorsThatDoNotHoldThem) {
  const std::string digits(64, 'a');
  for (const std::string& text : {std::string(), digits.substr(1), digits + "a", digits.substr(1) + "g",
                                  digits.substr(1) + "A", digits.substr(1) + " ", "0x" + digits.substr(2)}) {
    const auto parsed = Secret::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.error().message, Not(HasSubstr("aaaa"))) << text;
  }
}

TEST(Secret, SignsAsHmacSha256DoesInTheWorkedExample) {
  // python3 -c "import hmac; L = lambda b: len(b).to_bytes(8, 'little') + b; print(hmac.new(bytes(range(32)),
  //   L(b'purpose') + L(b'one') + L(b''), 'sha256').hexdigest())"
  const auto key = Secret::parse("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(to_hex(key.value().sign("purpose", {bytes("one"), bytes("")})),
            "afb37d830ea033c8a3794bfb19f209ed94ab2804f797fd3db88ea270211f8c95");
}

TEST(Secret, SignaturesDependOnKeyPurposeAndTheCutIntoParts) {
  const Secret secret;
  const auto tag = secret.sign("purpose", {bytes("ab"), bytes("c")});
  EXPECT_EQ(tag, Secret(secret).sign("purpose", {bytes("ab"), bytes("c")}));
  EXPECT_NE(tag, Secret().sign("purpose", {bytes("ab"), bytes("c")}));
  EXPECT_NE(tag, secret.sign("purposes", {bytes("ab"), bytes("c")}));
  EXPECT_NE(tag, secret.sign("purpose", {bytes("a"), bytes("bc")}));
  EXPECT_NE(tag, secret.sign("purpose", {bytes("abc")}));
  EXPECT_NE(tag, secret.sign("purpose", {bytes("ab"), bytes("c"), bytes("")}));
}

TEST(Secret, ComparisonTakesEveryByteAndTheSize) {
  const std::string text = "sixteen letters!";
  EXPECT_TRUE(equal_in_constant_time(bytes(text), bytes(text)));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(equal_in_constant_time(bytes(text), bytes(other))) << i;
  }
  EXPECT_FALSE(equal_in_constant_time(bytes(text), bytes(text).first(15)));
  EXPECT_TRUE(equal_in_constant_time({}, {}));
}

}  // namespace
}  // namespace rudder

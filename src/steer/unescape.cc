// SPDX-License-Identifier: Apache-2.0
#include "steer/unescape.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace rudder::steer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(static_cast<unsigned char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

/// The code unit of "\uXXXX" at `at`.
std::optional<std::uint32_t> code_unit(std::string_view raw, std::size_t at) {
  if (at + 6 > raw.size() || raw[at] != '\\' || raw[at + 1] != 'u') {
    return std::nullopt;
  }
  std::uint32_t unit = 0;
  const char* const end = raw.data() + at + 6;
  const auto [last, error] = std::from_chars(raw.data() + at + 2, end, unit, 16);
  return error == std::errc() && last == end ? std::optional(unit) : std::nullopt;
}

/// Appends what the \u escape at `at` stands for; returns its length, 0 when it is none.
std::size_t append_unicode(std::string& out, std::string_view raw, std::size_t at) {
  const auto unit = code_unit(raw, at);
  if (!unit) {
    return 0;
  }
  if (*unit < 0xD800 || *unit > 0xDFFF) {
    append_utf8(out, *unit);
    return 6;
  }
  const auto low = *unit <= 0xDBFF ? code_unit(raw, at + 6) : std::nullopt;
  if (low && *low >= 0xDC00 && *low <= 0xDFFF) {
    append_utf8(out, 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00));
    return 12;
  }
  out += kReplacement;
  return 6;
}

}  // namespace

std::string unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i++];
      continue;
    }
    if (const std::size_t length = append_unicode(text, raw, i); length > 0) {
      i += length;
      continue;
    }
    constexpr std::string_view kLetters = "bfnrt";
    constexpr std::string_view kMeant = "\b\f\n\r\t";
    const std::size_t known = kLetters.find(raw[i + 1]);
    text += known == std::string_view::npos ? raw[i + 1] : kMeant[known];
    i += 2;
  }
  return text;
}

}  // namespace rudder::steer

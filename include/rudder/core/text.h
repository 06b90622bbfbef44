// SPDX-License-Identifier: Apache-2.0
// Small text helpers shared by parsers and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/result.h"

namespace rudder {

/// The candidate nearest to `word` by edit distance, or empty when none is within a third of its length (at
/// least 2).
[[nodiscard]] std::string nearest_name(std::string_view word, std::span<const std::string_view> candidates);
/// Whole text as a decimal integer; nothing else is accepted.
[[nodiscard]] std::optional<std::int64_t> parse_int(std::string_view text) noexcept;
/// Whole text as a finite decimal number.
[[nodiscard]] std::optional<double> parse_double(std::string_view text) noexcept;
/// "200Mbit", "1Gbit", "none" → bits per second, 0 for none.
[[nodiscard]] Result<double> parse_bit_rate(std::string_view text);
/// Control characters other than newline and tab as "\\x1b": what files and options contain must not reach a
/// terminal raw.
[[nodiscard]] std::string printable(std::string_view text);
/// One line of valid UTF-8 of at most `max_bytes`, whatever `text` holds: control characters and line ends
/// become blanks, bytes that are no UTF-8 become U+FFFD, and it is cut between characters. O(text) at most.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t max_bytes);
/// For text and attributes of HTML and SVG: markup characters as entities, control characters as blanks.
[[nodiscard]] std::string html_escaped(std::string_view text);
/// 1536 → "1.5 KiB".
[[nodiscard]] std::string human_bytes(double bytes);

}  // namespace rudder

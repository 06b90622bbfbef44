// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/hostlist.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::place {
namespace {

constexpr std::size_t kMaxName = 255;    // as long as a DNS name gets
constexpr std::size_t kMaxDigits = 18;   // fits 64 bits
constexpr std::size_t kMaxBrackets = 8;  // Slurm's own limit is five dimensions

struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::size_t width = 0;
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(high - low) + 1; }
};

/// Literal text followed by a bracket's ranges (none: literal only).
struct Part {
  std::string_view text;
  std::vector<Range> ranges;
};

Error bad(std::string_view what, std::string_view value) {
  constexpr std::size_t kShown = 80;
  return {Errc::kInvalidData, fmt::format("host list: {}: '{}'{}", what, value.substr(0, kShown),
                                          value.size() > kShown ? "..." : "")};
}

Result<Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : text.substr(dash + 1);
  const auto digits = [](std::string_view s) {
    return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!digits(low) || !digits(high)) {
    return bad("a range is not NUMBER or NUMBER-NUMBER", text);
  }
  if (low.size() > kMaxDigits || high.size() > kMaxDigits) {
    return bad("a number is too long", text);
  }
  const Range range{*parse_int(low), *parse_int(high), low.size()};
  if (range.high < range.low) {
    return bad("a range runs backwards", text);
  }
  return range;
}

Result<std::vector<Range>> parse_ranges(std::string_view inside, std::size_t limit) {
  std::vector<Range> ranges;
  std::uint64_t total = 0;
  while (true) {
    const std::size_t comma = inside.find(',');
    RUDDER_ASSIGN(const Range range, parse_range(inside.substr(0, comma)));
    total += range.size();
    if (range.size() > limit || total > limit) {
      return bad(fmt::format("more than {} names", limit), inside);
    }
    ranges.push_back(range);
    if (comma == std::string_view::npos) {
      return ranges;
    }
    inside.remove_prefix(comma + 1);
  }
}

/// Splits "b[1-2]x[3-4]y" into parts and checks that its names fit `room`.
Result<std::vector<Part>> parse_item(std::string_view item, std::size_t room) {
  std::vector<Part> parts;
  std::uint64_t names = 1;
  std::string_view rest = item;
  while (!rest.empty()) {
    const std::size_t open = rest.find_first_of("[]");
    Part part{rest.substr(0, open), {}};
    if (open == std::string_view::npos) {
      parts.push_back(std::move(part));
      break;
    }
    const std::size_t close = rest.find_first_of("[]", open + 1);
    if (rest[open] == ']' || close == std::string_view::npos || rest[close] == '[') {
      return bad("brackets do not match", item);
    }
    RUDDER_ASSIGN(part.ranges, parse_ranges(rest.substr(open + 1, close - open - 1), room));
    std::uint64_t size = 0;
    for (const Range& range : part.ranges) {
      size += range.size();
    }
    names *= size;  // both factors are at most 2^22
    if (names > room || parts.size() == kMaxBrackets) {
      return bad(names > room ? "too many names" : "too many brackets", item);
    }
    parts.push_back(std::move(part));
    rest.remove_prefix(close + 1);
  }
  return parts;
}

void append_names(const std::vector<Part>& parts, std::vector<std::string>& names) {
  const std::size_t first = names.size();
  names.emplace_back();
  for (const Part& part : parts) {
    for (std::size_t i = first; i < names.size(); ++i) {
      names[i] += part.text;
    }
    if (part.ranges.empty()) {
      continue;
    }
    std::vector<std::string> longer;
    for (std::size_t i = first; i < names.size(); ++i) {
      for (const Range& range : part.ranges) {
        for (std::int64_t number = range.low; number <= range.high; ++number) {
          longer.push_back(fmt::format("{}{:0{}}", names[i], number, range.width));
        }
      }
    }
    names.resize(first);
    std::move(longer.begin(), longer.end(), std::back_inserter(names));
  }
}

/// End of the item at the front: the first comma outside brackets.
std::size_t item_end(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    inside = text[i] == '[' || (inside && text[i] != ']');
    if (text[i] == ',' && !inside) {
      return i;
    }
  }
  return text.size();
}

struct SplitName {
  std::string_view prefix;
  std::string_view digits;  ///< the last run of digits; empty when the name has none that can be counted
  std::string_view suffix;
};

SplitName split_name(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && (name[end - 1] < '0' || name[end - 1] > '9')) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') {
    --begin;
  }
  if (end - begin > kMaxDigits) {
    begin = end;
  }
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

/// Whether `next` counts on from `last` in a form that a range writes.
bool follows(std::string_view last, std::string_view next) {
  return *parse_int(next) == *parse_int(last) + 1 &&
         (next.size() == last.size() || (next.size() == last.size() + 1 && last.front() != '0' &&
                                         last.find_first_not_of('9') == std::string_view::npos));
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view expression, std::size_t limit) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t end = item_end(expression);
    const std::string_view item = expression.substr(0, end);
    if (item.empty()) {
      return bad("an empty name", expression);
    }
    if (names.size() >= limit) {
      return bad(fmt::format("more than {} names", limit), item);
    }
    RUDDER_ASSIGN(const std::vector<Part> parts, parse_item(item, limit - names.size()));
    const std::size_t first = names.size();
    append_names(parts, names);
    const auto too_long = [](const std::string& name) { return name.size() > kMaxName; };
    if (std::any_of(names.begin() + static_cast<std::ptrdiff_t>(first), names.end(), too_long)) {
      return bad(fmt::format("a name of more than {} characters", kMaxName), item);
    }
    if (end == expression.size()) {
      return names;
    }
    expression.remove_prefix(end + 1);
  }
}

std::string compress_hostlist(std::span<const std::string> names) {
  std::string text;
  std::size_t i = 0;
  while (i < names.size()) {
    const SplitName head = split_name(names[i]);
    std::string ranges;
    std::size_t members = 0;
    while (!head.digits.empty() && i < names.size()) {  // one bracket: all that share prefix and suffix
      const SplitName low = split_name(names[i]);
      if (low.digits.empty() || low.prefix != head.prefix || low.suffix != head.suffix) {
        break;
      }
      std::string_view high = low.digits;
      ++i;
      ++members;
      for (; i < names.size(); ++i, ++members) {
        const SplitName next = split_name(names[i]);
        if (next.digits.empty() || next.prefix != head.prefix || next.suffix != head.suffix ||
            !follows(high, next.digits)) {
          break;
        }
        high = next.digits;
      }
      ranges += ranges.empty() ? "" : ",";
      ranges += high == low.digits ? std::string(high) : fmt::format("{}-{}", low.digits, high);
    }
    text += text.empty() ? "" : ",";
    if (members < 2) {
      text += names[members == 0 ? i++ : i - 1];
    } else {
      text += fmt::format("{}[{}]{}", head.prefix, ranges, head.suffix);
    }
  }
  return text;
}

}  // namespace rudder::place

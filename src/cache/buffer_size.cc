// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/buffer_size.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::cache {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Error rejected(std::string_view text, std::string_view why) {
  return {Errc::kInvalidArgument, fmt::format("buffer size '{}': {}", text, why)};
}

}  // namespace

SlotId BufferSize::slots(std::size_t halo) const {
  if (rows >= 0) {
    return narrow<SlotId>(rows);
  }
  return narrow<SlotId>(std::llround(fraction * static_cast<double>(halo)));
}

Result<BufferSize> parse_buffer_size(std::string_view text) {
  BufferSize size;
  size.text = text;
  if (is_digits(text)) {
    const std::optional<std::int64_t> rows = parse_int(text);
    if (!rows || *rows > kMostRows) {
      return rejected(text, "more than 2147483648 rows");
    }
    size.rows = *rows;
    return size;
  }
  const std::size_t point = text.find('.');
  const bool well_formed = point != std::string_view::npos && is_digits(text.substr(point + 1)) &&
                           (point == 0 || is_digits(text.substr(0, point)));
  const std::optional<double> fraction = well_formed ? parse_double(text) : std::nullopt;
  if (!fraction) {
    return rejected(text, "write a fraction of the halo with a point (0.25) or a number of rows (4000)");
  }
  if (*fraction > 1) {
    return rejected(text, "a fraction of the halo is at most 1.0; for rows, write an integer");
  }
  size.fraction = *fraction;
  return size;
}

}  // namespace rudder::cache

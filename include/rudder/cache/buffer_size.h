// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::cache {

/// A buffer size as users write it: "0.25" is a fraction of the rank's halo, "4000" a number of rows.
struct BufferSize {
  double fraction = 0;  ///< used when rows < 0
  std::int64_t rows = -1;
  std::string text;  ///< as written

  /// Rows the buffer holds for a rank with `halo` remote one-hop neighbours; a fraction is rounded to the
  /// nearest row.
  [[nodiscard]] SlotId slots(std::size_t halo) const;
};

/// Digits alone are rows, at most 2^31 ("1" is one row); digits with a point are a fraction, at most 1 ("1.0"
/// is the whole halo). Anything else (signs, exponents, units, blanks) is an error.
[[nodiscard]] Result<BufferSize> parse_buffer_size(std::string_view text);

}  // namespace rudder::cache

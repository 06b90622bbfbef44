// SPDX-License-Identifier: Apache-2.0
// Identifier types. Global ids are 64-bit, ids inside one batch, part or buffer 32-bit; narrowing is checked.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "rudder/core/check.h"

namespace rudder {

using NodeId = std::int64_t;     ///< a node of the whole graph, as in the `.npy` arrays
using EdgeIndex = std::int64_t;  ///< a position in `indices`
using LocalId = std::uint32_t;   ///< a node's position in one sampled batch or one part
using PartId = std::uint32_t;    ///< a part of a partitioned graph
using Rank = std::uint32_t;      ///< a trainer process; in the embedded form rank r owns part r
using SlotId = std::uint32_t;    ///< a row's place in the buffer
using StepId = std::uint64_t;    ///< a batch of one rank, counted from 0 over the whole run

inline constexpr NodeId kNoNode = -1;
inline constexpr SlotId kNoSlot = std::numeric_limits<SlotId>::max();

/// Integer conversion that aborts when the value does not fit: for values that were validated before.
template <class To, class From>
[[nodiscard]] constexpr To narrow(From value) noexcept {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  const auto converted = static_cast<To>(value);
  RUDDER_CHECK(static_cast<From>(converted) == value && ((converted < To{}) == (value < From{})),
               "integer does not fit its new type");
  return converted;
}

}  // namespace rudder

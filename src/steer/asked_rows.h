// SPDX-License-Identifier: Apache-2.0
// Which rows were asked for lately: in the present window, and in the one before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rudder/core/ids.h"

namespace rudder::steer {

/// A set-associative memory of rows: a row has ten places in two neighbouring cache lines, and what was asked
/// for before the window before makes room by itself. Exact as long as no row is forgotten() for want of
/// room, which at the size asked for happens to about one row in a hundred thousand. No allocation after
/// construction. Not thread-safe.
class AskedRows {
 public:
  /// Remembers `rows` distinct rows over two windows.
  explicit AskedRows(std::size_t rows);

  void next_window() noexcept { ++window_; }
  /// `hash` is mix64(row) here and below. Brings what ask() needs towards the cache.
  void prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&lines_[home(hash)], 1);
    __builtin_prefetch(&lines_[home(hash) + 1], 1);
  }
  /// The present window asks for `row`. Returns whether the window before did not.
  bool ask(NodeId row, std::uint64_t hash) noexcept;
  /// Whether the present window has asked for `row`.
  [[nodiscard]] bool asked(NodeId row, std::uint64_t hash) const noexcept;
  /// Rows that had to go before their time: they count as not asked for.
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }

 private:
  static constexpr std::size_t kCells = 5;
  struct alignas(64) Line {
    std::array<NodeId, kCells> rows{};
    /// Twice the last window that asked for the row, plus one when the window before that one did too.
    std::array<std::uint32_t, kCells> states{};
  };
  static_assert(sizeof(Line) == 64);

  /// The first line of the row's pair.
  [[nodiscard]] std::size_t home(std::uint64_t hash) const noexcept {
    return 2 * (static_cast<std::size_t>(hash) & mask_);
  }
  [[nodiscard]] bool is_live(std::uint32_t state) const noexcept { return state / 2 + 1 >= window_; }

  std::size_t mask_;
  std::vector<Line> lines_;
  std::uint32_t window_ = 2;  ///< of 31 bits, so that zeroed cells are free
  std::uint64_t forgotten_ = 0;
};

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// Which rows were asked for lately: in the present window, and in the one before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rudder/core/ids.h"

namespace rudder::steer {

/// A set-associative memory of rows: a row has its home in one cache line and may be a guest in the next one,
/// ten places in all; what was asked for before the window before makes room by itself. Exact as long as no
/// row is forgotten() for want of room, which at the size asked for happens to about one in a hundred
/// thousand. No allocation after construction. Not thread-safe.
class AskedRows {
 public:
  /// Remembers `rows` distinct rows over two windows.
  explicit AskedRows(std::size_t rows);

  void next_window() noexcept { ++window_; }
  /// `hash` is mix64(row) here and below. Brings what ask() needs towards the cache.
  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&lines_[home_of(hash)], 1); }
  /// The present window asks for `row`. Returns whether the window before did not.
  bool ask(NodeId row, std::uint64_t hash) noexcept;
  /// Whether the present window has asked for `row`.
  [[nodiscard]] bool asked(NodeId row, std::uint64_t hash) const noexcept;
  /// Rows that had to go before their time: they count as not asked for.
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }

 private:
  static constexpr std::size_t kCells = 5;
  struct alignas(64) Line {
    std::array<NodeId, kCells> rows{};  ///< one place a row, but a guest's old place may hold it still
    /// Twice the last window that asked for the row, plus one when the window before that one did too.
    std::array<std::uint32_t, kCells> states{};
    std::uint32_t guests = 0;  ///< the last window that asked for a row of this home in the next line
  };
  static_assert(sizeof(Line) == 64);
  [[nodiscard]] std::size_t home_of(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(hash) & mask_;
  }
  // Cells of a line are a bit each.
  [[nodiscard]] static std::size_t first_of(std::uint32_t cells) noexcept {
    return static_cast<std::size_t>(__builtin_ctz(cells));
  }
  [[nodiscard]] static std::uint32_t cells_with(const Line& line, NodeId row) noexcept;
  [[nodiscard]] std::uint32_t free_cells(const Line& line) const noexcept;
  [[nodiscard]] bool has_guests(const Line& home) const noexcept { return home.guests + 1 >= window_; }
  /// The present window asks for the row of this state; returns as ask().
  bool note(std::uint32_t& state) const noexcept;
  bool put(Line& line, std::size_t cell, NodeId row) const noexcept;

  std::size_t mask_;
  std::vector<Line> lines_;
  std::uint32_t window_ = 2;  ///< of 31 bits, so that zeroed cells are free
  std::uint64_t forgotten_ = 0;
};

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
#include "steer/asked_rows.h"

#include <algorithm>
#include <bit>

namespace rudder::steer {
namespace {

/// A line has 5 cells and is to hold 1.25 rows on average: then a row in twenty pairs of lines is not in its
/// home, and more than 10 rows meet in one pair of 30,000.
std::size_t lines_for(std::size_t rows) {
  return std::bit_ceil(std::max<std::size_t>(4 * rows / 5, 2));
}

}  // namespace

AskedRows::AskedRows(std::size_t rows) : mask_(lines_for(rows) - 1), lines_(mask_ + 1) {}

/// A mask instead of branches, which would mispredict.
std::uint32_t AskedRows::cells_with(const Line& line, NodeId row) noexcept {
  std::uint32_t same = 0;
  for (std::size_t i = 0; i < kCells; ++i) {
    same |= static_cast<std::uint32_t>(line.rows[i] == row) << i;
  }
  return same;
}

std::uint32_t AskedRows::free_cells(const Line& line) const noexcept {
  std::uint32_t free = 0;
  for (std::size_t i = 0; i < kCells; ++i) {
    free |= static_cast<std::uint32_t>(line.states[i] / 2 + 1 < window_) << i;
  }
  return free;
}

bool AskedRows::ask(NodeId row, std::uint64_t hash) noexcept {
  Line& home = lines_[home_of(hash)];
  if (const std::uint32_t same = cells_with(home, row); same != 0) {
    return note(home.states[first_of(same)]);
  }
  const std::uint32_t free = free_cells(home);
  if (free != 0 && !has_guests(home)) {
    return put(home, first_of(free), row);
  }
  Line& next = lines_[home_of(hash) ^ 1];
  if (const std::uint32_t same = cells_with(next, row); same != 0) {
    home.guests = window_;
    return note(next.states[first_of(same)]);
  }
  if (free != 0) {
    return put(home, first_of(free), row);
  }
  if (const std::uint32_t free_next = free_cells(next); free_next != 0) {
    home.guests = window_;
    return put(next, first_of(free_next), row);
  }
  ++forgotten_;
  const auto oldest = std::min_element(home.states.begin(), home.states.end()) - home.states.begin();
  return put(home, static_cast<std::size_t>(oldest), row);
}

bool AskedRows::asked(NodeId row, std::uint64_t hash) const noexcept {
  const Line& home = lines_[home_of(hash)];
  if (const std::uint32_t same = cells_with(home, row); same != 0) {
    return home.states[first_of(same)] / 2 == window_;
  }
  if (!has_guests(home)) {
    return false;
  }
  const Line& next = lines_[home_of(hash) ^ 1];
  const std::uint32_t same = cells_with(next, row);
  return same != 0 && next.states[first_of(same)] / 2 == window_;
}

bool AskedRows::note(std::uint32_t& state) const noexcept {
  if (state / 2 != window_) {
    state = 2 * window_ + (state / 2 + 1 == window_ ? 1U : 0U);
  }
  return state % 2 == 0;
}

bool AskedRows::put(Line& line, std::size_t cell, NodeId row) const noexcept {
  line.rows[cell] = row;
  line.states[cell] = 2 * window_;
  return true;
}

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
#include "steer/asked_rows.h"

#include <algorithm>
#include <bit>

namespace rudder::steer {
namespace {

/// A pair of lines has 10 cells and is to hold 2.5 rows on average: then more than 10 meet in one in 30,000.
std::size_t pairs_for(std::size_t rows) {
  return std::bit_ceil(std::max<std::size_t>(2 * rows / 5, 1));
}

}  // namespace

AskedRows::AskedRows(std::size_t rows) : mask_(pairs_for(rows) - 1), lines_(2 * (mask_ + 1)) {}

bool AskedRows::ask(NodeId row, std::uint64_t hash) noexcept {
  NodeId* room = nullptr;
  std::uint32_t* room_state = nullptr;
  for (std::size_t line = home(hash); line < home(hash) + 2; ++line) {
    for (std::size_t i = 0; i < kCells; ++i) {
      std::uint32_t& state = lines_[line].states[i];
      if (lines_[line].rows[i] == row && is_live(state)) {
        if (state / 2 != window_) {
          state = 2 * window_ + 1;
        }
        return state % 2 == 0;
      }
      if (room_state == nullptr || state < *room_state) {  // the row asked for longest ago
        room = &lines_[line].rows[i];
        room_state = &state;
      }
    }
  }
  forgotten_ += is_live(*room_state) ? 1U : 0U;
  *room = row;
  *room_state = 2 * window_;
  return true;
}

bool AskedRows::asked(NodeId row, std::uint64_t hash) const noexcept {
  for (std::size_t line = home(hash); line < home(hash) + 2; ++line) {
    for (std::size_t i = 0; i < kCells; ++i) {
      if (lines_[line].rows[i] == row && lines_[line].states[i] / 2 == window_) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// How well outputs match labels, as two counts that add up over nodes and ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rudder::train {

struct Score {
  std::uint64_t part = 0;
  std::uint64_t whole = 0;

  /// Accuracy: 1 of 1 when the largest output is at `label`, 0 of 1 when not; nothing without a label (-1).
  void add_class(std::span<const float> outputs, std::int64_t label) noexcept {
    if (label >= 0) {
      ++whole;
      part += std::ranges::max_element(outputs) - outputs.begin() == label ? 1U : 0U;
    }
  }
  /// Micro-F1: 2 of 2 for each class that is there and has a positive output, 0 of 1 for each class that is
  /// there or has one, but not both.
  void add_classes(std::span<const float> outputs, std::span<const std::uint8_t> labels) noexcept {
    for (std::size_t c = 0; c < outputs.size(); ++c) {
      const bool found = outputs[c] > 0;
      const bool there = labels[c] != 0;
      part += found && there ? 2U : 0U;
      whole += (found ? 1U : 0U) + (there ? 1U : 0U);
    }
  }
  /// 0 of 0 is 0.
  [[nodiscard]] double share() const noexcept {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

}  // namespace rudder::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/steer/window.h"

namespace rudder::steer {

enum class Direction : std::uint8_t { kDecrease, kStagnant, kIncrease };
[[nodiscard]] std::string_view name_of(Direction direction) noexcept;

/// What the decider thinks will happen in the window after.
struct Expected {
  Direction hits = Direction::kStagnant;     ///< of the hit rate
  Direction traffic = Direction::kStagnant;  ///< of the rows fetched a batch
  friend bool operator==(const Expected&, const Expected&) = default;
};
/// What did happen from one window to another: a change of more than 2 % of the value before is one.
[[nodiscard]] Expected effect_of(const Window& before, const Window& after) noexcept;

struct Decision {
  std::uint64_t sequence = 0;  ///< of the window that it was made on
  std::size_t action = 0;      ///< index of the action set
  double confidence = 1;       ///< 0 to 1
  std::string reason = {};     ///< one or two sentences; empty when the decider gives none
  std::optional<Expected> expected = std::nullopt;
  double seconds = 0;       ///< from asking to deciding
  bool from_model = false;  ///< a model was called for it
  bool valid_reply = true;  ///< false: the model's reply did not parse, and the action is the fallback

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// A finished window with what every action would have cost.
struct LabelledWindow {
  Window window;
  /// Simulated seconds of the window under each action, in the order of the action set.
  std::vector<double> costs;
  /// The action of least cost, the fallback among equals.
  std::size_t best = 0;
  friend bool operator==(const LabelledWindow&, const LabelledWindow&) = default;
};
/// There is a cost for each action of the set.
[[nodiscard]] LabelledWindow labelled(const Window& window, std::vector<double> costs, std::size_t fallback);

}  // namespace rudder::steer

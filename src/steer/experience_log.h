// SPDX-License-Identifier: Apache-2.0
// Windows on their way into the memory: each waits until what was decided on it is settled, and the window
// after that has shown the effect.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "rudder/steer/memory.h"

namespace rudder::steer {

/// Not thread-safe. Holds a few windows more than a question may be out.
class ExperienceLog {
 public:
  struct Totals {
    std::uint64_t predictions = 0, right_directions = 0;  ///< of decisions that were let through
    std::uint64_t errors = 0;
    std::string first_error;
  };

  /// `memory` outlives the log; null: nothing is remembered, predictions are scored all the same.
  /// `lag`: windows that pass after a settlement before what it settled holds.
  explicit ExperienceLog(Memory* memory, std::uint32_t lag = 0) : memory_(memory), lag_(lag) {}

  /// A window ended: shows the effect of what was settled before it, and is the newest entry from now on.
  void window_ended(const Window& window, Experience experience);
  /// The newest window's entry waits for a decision on it.
  void await();
  /// What was decided on window `sequence` (null: nothing came) is settled at the newest window's end.
  void settled(std::uint64_t sequence, const Decision* decision, bool let_through);
  /// Remembers all entries as they are.
  void finish();

  [[nodiscard]] const Totals& totals() const noexcept { return totals_; }

 private:
  struct Entry {
    Experience experience;
    Window border;  ///< the last window before the effect
    bool waits = false;
    bool let_through = false;
    std::uint32_t left = 0;  ///< windows until the border
  };
  void remember(const Experience& experience);

  Memory* memory_;
  std::uint32_t lag_;
  std::deque<Entry> entries_;  ///< oldest first
  std::optional<Window> newest_;
  Totals totals_;
};

}  // namespace rudder::steer

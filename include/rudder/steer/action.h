// SPDX-License-Identifier: Apache-2.0
// What steering may change, and the closed lists of choices that a decider has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/cache/policy.h"
#include "rudder/core/result.h"

namespace rudder::steer {

/// Everything that a decision can set. It holds from one batch border to the next decision.
struct Setting {
  std::string policy = "score";  ///< one that knows no future, or lookahead
  bool replace = false;  ///< score: replace stale rows before the first batch under this setting, once
  std::uint32_t lookahead = 16;          ///< lookahead: batches known ahead
  std::uint32_t depth = 4;               ///< batches fetched ahead of the one in training
  double prefetch_bytes_per_second = 0;  ///< limit of what is fetched ahead of need; 0: none
  double slot_share = 1;  ///< of the memory budget that holds slots; the rest is for rows that wait staged

  friend bool operator==(const Setting& a, const Setting& b) noexcept;
};

/// One choice. Names are single words of lower-case letters, digits and '-': they are what models answer.
struct Action {
  std::string name;
  std::string help;  ///< what it does, half a sentence for prompts and reports
  Setting setting;
};

/// A closed list of choices, at least two and at most kMaxActions.
struct ActionSet {
  std::string name;  ///< replace, knobs
  std::vector<Action> actions;
  std::size_t fallback = 0;     ///< until something better is known
  std::uint32_t cool_down = 0;  ///< windows that must pass between two changes of the setting

  /// kMaxActions when there is none of that name.
  [[nodiscard]] std::size_t find(std::string_view action) const noexcept;
  /// The action of the same setting that does not replace; `action` itself when it doesn't or there is none.
  [[nodiscard]] std::size_t resting(std::size_t action) const;
  /// The set's name with a digest of its actions' names and settings: what is learned of one set holds only
  /// for sets of the same key.
  [[nodiscard]] std::string key() const;
};

inline constexpr std::size_t kMaxActions = 16;

/// The paper's yes or no for the score policy: `skip` and `replace`.
[[nodiscard]] ActionSet replace_actions();
/// Bounds of a knob set.
struct KnobBounds {
  std::vector<std::string> policies;  ///< that the run may switch among
  std::vector<std::uint32_t> depths;
  std::vector<double> prefetch_bytes_per_second;
  std::vector<double> slot_shares;
};
/// Every combination of the bounds' values, the first of each being the fallback. An error when there are
/// none or more than kMaxActions, a policy is not known or not one for live runs, a number out of range.
[[nodiscard]] Result<ActionSet> knob_actions(const KnobBounds& bounds);

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// The wording of prompts, one table a language. A change of any of it is a new kPromptVersion.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "rudder/steer/window.h"

namespace rudder::steer {

struct PromptText {
  std::string_view language;

  // The system's message.
  std::string_view role;
  std::string_view actions;  ///< heading of the list
  std::string_view figures;  ///< what the words of lines mean
  std::string_view form;     ///< of the answer
  std::string_view thought;  ///< asks for reasoning first

  // What happened, and its acknowledgement.
  std::string_view history;        ///< heading
  std::string_view hits, traffic;  ///< of what came of a decision
  std::string_view owners;         ///< heading
  std::string_view note;           ///< before an event
  std::string_view noted;

  // Lines of windows.
  std::string_view held;  ///< before the action that held
  std::array<std::string_view, kMetrics> metrics;
  std::array<std::string_view, 3> levels;     ///< by Level
  std::string_view falling, rising, changed;  ///< a level that is new: low, high, medium

  std::array<std::string_view, 3> directions;  ///< by Direction
  std::string_view comma, semicolon, colon;

  /// In place of Action::help, by action's name; others keep theirs.
  struct Help {
    std::string_view action, help;
  };
  std::span<const Help> helps;
};

[[nodiscard]] const PromptText& prompt_en();
[[nodiscard]] const PromptText& prompt_zh();

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// Labelled windows as chats, for fine-tuning a model elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/llm/model.h"
#include "rudder/steer/action.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/prompt.h"

namespace rudder::steer {

struct ChatExportOptions {
  std::size_t demonstrations = 5;  ///< in each prompt, from other runs' windows
  PromptOptions prompt;            ///< without reasoning: nobody has labelled thoughts
  double least_benefit = 0;        ///< of the best action over the next best, as a share of its cost
  /// Windows after which another action than the best one held too, whose effect nobody has seen: their
  /// answers say nothing of what to expect. Else they are left out.
  bool unseen_effects = false;
};

struct ChatExample {
  std::size_t window = 0;  ///< position in the experiences
  std::vector<llm::Message> messages;
  bool complete = false;  ///< the answer has all parts of the form
};

struct ChatExport {
  std::vector<ChatExample> examples;
  std::uint64_t unseen_effects = 0;      ///< left out
  std::uint64_t too_little_benefit = 0;  ///< left out
};

/// Decisions of the same run that were obeyed before a window, with what came of each, the oldest first, as a
/// model would be told: at most five. `experiences` are of one run, in order.
[[nodiscard]] std::vector<Episode> history_of(std::span<const Experience> experiences, std::size_t window,
                                              const ActionSet& actions);

/// In the order of the experiences, which are of the action set; those of a run in order. Demonstrations come
/// from `shown`, but for those of the window's own run. O(experiences x shown).
[[nodiscard]] Result<ChatExport> export_chats(std::span<const Experience> experiences,
                                              std::span<const Experience> shown, const ActionSet& actions,
                                              const ChatExportOptions& options);
/// {"messages": [{"role", "content"}, ...]} and, with the window, "metadata": {"run", "graph", "sequence",
/// "action", "costs"}. One line of valid UTF-8.
[[nodiscard]] std::string json_of(const ChatExample& example, const Experience* window,
                                  const ActionSet& actions);

}  // namespace rudder::steer

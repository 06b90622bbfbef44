// SPDX-License-Identifier: Apache-2.0
#include "steer/prompt_text.h"

namespace rudder::steer {

const PromptText& prompt_en() {
  static constexpr PromptText kText = {
      .language = "en",
      .role =
          "You steer the buffer of remote rows of a distributed training. Choose what makes its next steps "
          "fastest.",
      .actions = "Actions:",
      .figures =
          "hits: requested rows found in the buffer; traffic: rows fetched; stall: time spent waiting; "
          "stale: buffered rows not requested.",
      .form =
          R"(Each line tells of a window. Answer: {"decision": "<action>", "reason": "<few words>", "expected": {"hits": "<increase|decrease|stagnant>", "traffic": "<increase|decrease|stagnant>"}})",
      .thought = "First think between <think> and </think>, in at most five sentences.",
      .history = "Decisions so far, the oldest first",
      .hits = "hits",
      .traffic = "traffic",
      .owners = "Last window",
      .note = "Note",
      .noted = "Noted.",
      .held = "under",
      .metrics = {"hits", "traffic", "extra", "stall", "all-reduce", "link", "ready", "stale", "fresh",
                  "skew", "delay", "left"},
      .levels = {"low", "medium", "high"},
      .falling = "falling",
      .rising = "rising",
      .changed = "changed",
      .directions = {"down", "same", "up"},
      .comma = ", ",
      .semicolon = "; ",
      .colon = ": ",
      .helps = {},
  };
  return kText;
}

}  // namespace rudder::steer

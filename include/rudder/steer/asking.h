// SPDX-License-Identifier: Apache-2.0
// One question to a language model: what it is shown, what it answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/llm/model.h"
#include "rudder/steer/action.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/prompt.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

/// The k remembered windows that are most like `features`, the nearest first. When all of them say the same,
/// the nearest that says otherwise, of four times as many, takes the farthest one's place: examples of one
/// action alone teach a model to repeat it. `except_run` as of Memory::nearest().
[[nodiscard]] Result<std::vector<Experience>> demonstrations_for(const Memory& memory,
                                                                 const ActionSet& actions,
                                                                 const Features& features, std::size_t k,
                                                                 const std::string& except_run = {});

/// Decisions and what they brought that a model is shown, the newest ones.
inline constexpr std::size_t kShownEpisodes = 5;

struct ModelAnswer {
  std::optional<ParsedReply> reply;  ///< nothing: it was refused
  std::string refusal;               ///< why
  double confidence = 0;             ///< as the model's probabilities tell; 0 when refused
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, reply_tokens = 0;
};

/// Not thread-safe; what it refers to outlives it.
class Asker {
 public:
  struct Options {
    PromptOptions prompt;
    std::uint64_t seed = 1;
    std::string job;
  };
  Asker(const ActionSet& actions, llm::Model& model, const Options& options);

  /// Blocks for `timeout` at most. Errors (no prompt, no answer) name the model.
  [[nodiscard]] Result<ModelAnswer> ask(std::span<const Experience> demonstrations,
                                        std::span<const Episode> history, const Report& report,
                                        Duration timeout);

 private:
  const ActionSet& actions_;
  llm::Model& model_;
  PromptOptions prompt_;
  llm::ChatRequest request_;
};

}  // namespace rudder::steer

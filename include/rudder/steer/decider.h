// SPDX-License-Identifier: Apache-2.0
// Whoever chooses an action. To add one, write src/steer/deciders/NAME.cc with a function
// `DeciderInfo NAME_decider()` and add NAME to the list in src/steer/decider_table.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/llm/model.h"
#include "rudder/steer/action.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

class Classifier;  // classifier.h
class Memory;      // memory.h

/// What deciders may know. Everything outlives the decider.
struct DeciderContext {
  const ActionSet* actions = nullptr;
  std::uint64_t seed = 1;
  std::string argument = {};         ///< what stands behind the colon: the period of fixed:8, a file's path
  Memory* memory = nullptr;          ///< labelled windows of this and other runs; null: none
  llm::Model* model = nullptr;       ///< null: there is none
  std::string job = "rudder";        ///< this run's name at the model's
  std::uint32_t demonstrations = 5;  ///< labelled windows shown to a model
  std::string language = "en";       ///< of prompts: en, zh
  bool reasoning = false;            ///< let the model reason before it answers
  Duration model_timeout = from_seconds(10);
  std::filesystem::path classifier = {};                ///< a trained one (`rudder steer train`)
  std::shared_ptr<const Classifier> trained = nullptr;  ///< instead of the file
  const Clock* clock = nullptr;                         ///< null: the steady clock
};

/// Chooses for the next window. Not thread-safe; may block as long as its model's timeout, never longer.
class Decider {
 public:
  Decider() = default;
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;
  virtual ~Decider() = default;

  /// `window` is the last finished one, `report` the same in words. Whoever asks through make_decider() finds
  /// Decision::seconds filled in. Errors (no answer, no model) leave the
  /// caller to its fallback.
  [[nodiscard]] virtual Result<Decision> decide(const Window& window, const Report& report) = 0;
  /// Hears what each action would have cost in a finished window; windows in order, each once. Default:
  /// ignored.
  virtual void learn(const LabelledWindow& labelled);
};

/// One line of the decider table.
struct DeciderInfo {
  std::string_view name;
  std::string_view argument = {};  ///< metavar of what stands behind a colon; empty: nothing may
  std::string_view help = {};
  bool needs_model = false;
  bool needs_classifier = false;
  Result<std::unique_ptr<Decider>> (*make)(const DeciderContext& context) = nullptr;
};

/// never, always, fixed:P, action:NAME, rule, bandit, hedge, nearest, lr, svm, mlp, rf, xgb, llm,
/// replay:FILE.
[[nodiscard]] std::span<const DeciderInfo> decider_table();
/// An unknown name is an error with a near-miss hint.
[[nodiscard]] Result<const DeciderInfo*> find_decider(std::string_view name);
/// "name" or "name:argument"; errors as of find_decider(), or what the context lacks.
[[nodiscard]] Result<std::unique_ptr<Decider>> make_decider(std::string_view spec, DeciderContext context);

}  // namespace rudder::steer

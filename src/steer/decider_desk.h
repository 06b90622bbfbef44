// SPDX-License-Identifier: Apache-2.0
// A decider on a thread of its own, which may be long about an answer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>

#include "rudder/core/result.h"
#include "rudder/llm/model.h"
#include "rudder/steer/decider.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/window.h"

#include "steer/wakeup.h"

namespace rudder::steer {

/// Tells the decider what it is told, in order. Of questions that wait only the newest is asked; of windows
/// to learn from the newest kMostLessons are kept. Calls wait for nobody but each other, and shortly.
class DeciderDesk {
 public:
  static constexpr std::size_t kMostLessons = 256;

  /// References outlive it; `model`: what the decider asks, null for none; `wakeup` is called with each
  /// answer. `idle`: at the scheduler's idle priority.
  DeciderDesk(Decider& decider, llm::Model* model, bool idle, Wakeup& wakeup);
  /// As stop().
  ~DeciderDesk();
  DeciderDesk(const DeciderDesk&) = delete;
  DeciderDesk& operator=(const DeciderDesk&) = delete;

  void learn(const LabelledWindow& labelled);
  void ask(const Window& window, const Report& report);
  /// The oldest answer that was not taken.
  [[nodiscard]] std::optional<Result<Decision>> take_answer();
  /// Breaks off the model's call and joins the thread. Any number of times, by one thread.
  void stop();

 private:
  struct Question {
    Window window;
    Report report;
  };
  using Work = std::variant<LabelledWindow, Question>;
  void run(bool idle);
  void drop_surplus();

  Decider& decider_;
  llm::Model* model_;
  Wakeup& wakeup_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> work_;
  std::deque<Result<Decision>> answers_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace rudder::steer

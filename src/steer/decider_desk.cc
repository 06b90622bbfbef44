// SPDX-License-Identifier: Apache-2.0
#include "steer/decider_desk.h"

#include <algorithm>
#include <utility>

#include "rudder/core/log.h"
#include "rudder/core/machine.h"

namespace rudder::steer {

DeciderDesk::DeciderDesk(Decider& decider, llm::Model* model, bool idle, Wakeup& wakeup)
    : decider_(decider), model_(model), wakeup_(wakeup), thread_([this, idle] { run(idle); }) {}

DeciderDesk::~DeciderDesk() {
  stop();
}

void DeciderDesk::learn(const LabelledWindow& labelled) {
  {
    const std::lock_guard lock(mutex_);
    work_.emplace_back(labelled);
    drop_surplus();
  }
  changed_.notify_one();
}

/// The oldest lesson, when there are too many.
void DeciderDesk::drop_surplus() {
  const auto is_lesson = [](const Work& work) { return std::holds_alternative<LabelledWindow>(work); };
  if (static_cast<std::size_t>(std::count_if(work_.begin(), work_.end(), is_lesson)) > kMostLessons) {
    work_.erase(std::find_if(work_.begin(), work_.end(), is_lesson));
  }
}

void DeciderDesk::ask(const Window& window, const Report& report) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(work_, [](const Work& work) { return std::holds_alternative<Question>(work); });
    work_.emplace_back(Question{window, report});
  }
  changed_.notify_one();
}

std::optional<Result<Decision>> DeciderDesk::take_answer() {
  const std::lock_guard lock(mutex_);
  if (answers_.empty()) {
    return std::nullopt;
  }
  std::optional<Result<Decision>> answer(std::move(answers_.front()));
  answers_.pop_front();
  return answer;
}

void DeciderDesk::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (model_ != nullptr) {
    model_->stop();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void DeciderDesk::run(bool idle) {
  name_this_thread("rudder-decide");
  if (idle) {
    if (const Status lowered = run_this_thread_when_idle(); !lowered.ok()) {
      log_warning("deciding goes on at the usual priority: " + lowered.error().message);
    }
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !work_.empty(); });
    if (stopping_) {
      return;
    }
    const Work work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    std::optional<Result<Decision>> answer;
    if (const auto* const lesson = std::get_if<LabelledWindow>(&work)) {
      decider_.learn(*lesson);
    } else {
      const Question& question = std::get<Question>(work);
      answer = decider_.decide(question.window, question.report);
    }
    lock.lock();
    if (answer) {
      answers_.push_back(std::move(*answer));
      wakeup_.call();
    }
  }
}

}  // namespace rudder::steer

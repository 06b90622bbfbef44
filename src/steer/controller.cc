// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/controller.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/text.h"

#include "steer/experience_log.h"
#include "steer/held_action.h"

namespace rudder::steer {
namespace {

constexpr std::size_t kMostOfAText = 400;  // bytes of a reason or a failure that are kept

}  // namespace
class Controller::Impl {
 public:
  Impl(const ActionSet& actions, Memory* memory, const ControllerOptions& options)
      : actions_(actions),
        options_(options),
        trigger_(options.trigger),
        breaker_(options.breaker),
        evaluator_(actions, options.evaluator_half_life),
        cache_(options.cache_similarity, options.cache_expiry, options.cache_size),
        log_(memory, options.lag),
        held_(actions, options.guard) {}

  void note(std::string event) {
    if (events_.size() == kMaxEvents) {
      events_.erase(events_.begin());
    }
    events_.push_back(std::move(event));
  }

  bool window_ended(const LabelledWindow& labelled, TimePoint now) {
    RUDDER_CHECK(totals_.windows == 0 || labelled.window.sequence > window_.sequence,
                 "windows come in order");
    evaluator_.learn(labelled);
    describe(labelled.window);
    ++totals_.windows;
    held_.window_ended();
    log_.window_ended(window_, experience_of(labelled));
    if (question_ && window_.sequence - question_->sequence > options_.guard.stale_after) {
      // An answer would be dropped anyhow.
      fail(fmt::format("none within {} windows", options_.guard.stale_after), now);
    }
    due_ = trigger_.fires(window_, now) || due_;
    const bool asks = due_ && !question_ && !take_from_cache() && ask(now);
    bring_totals_up();
    return asks;
  }

  void answered(const Result<Decision>& decision, TimePoint now) {
    if (decision.ok()) {
      take_answer(*decision);
    } else if (question_) {
      fail(decision.error().message, now);
    }
    bring_totals_up();
  }

  DecisionRecord settle(TimePoint now) {
    DecisionRecord record;
    record.sequence = window_.sequence;
    if (answer_) {
      settle_answer(record, now);
    } else if (std::exchange(failed_, false)) {
      record.verdict = Verdict::kNoAnswer;
      record.why = failure_;
    } else if (due_ && !question_ && breaker_.state() != Breaker::State::kClosed) {
      record.verdict = Verdict::kBreakerOpen;
      record.why = failure_;
    } else {
      record.verdict = question_ ? Verdict::kPending : Verdict::kNoTrigger;
    }
    held_.settle(record, evaluator_, breaker_.state() == Breaker::State::kClosed);
    record.applied = held_.action();
    ++totals_.verdicts[static_cast<std::size_t>(record.verdict)];
    bring_totals_up();
    return record;
  }

  void finish() {
    log_.finish();
    bring_totals_up();
  }

  [[nodiscard]] const Window& window() const { return window_; }
  [[nodiscard]] const Report& report() const { return report_; }
  [[nodiscard]] std::size_t action() const { return held_.action(); }
  [[nodiscard]] const ControllerTotals& totals() const { return totals_; }
  [[nodiscard]] const Breaker& breaker() const { return breaker_; }
  [[nodiscard]] const Evaluator& evaluator() const { return evaluator_; }

 private:
  struct Question {
    std::uint64_t sequence = 0;
    Features features{};
  };
  struct Answer {
    Decision decision;
    Features features{};
    bool from_cache = false;
    bool astray = false;  ///< on a window that was not asked about, or no more
  };

  void describe(const Window& window) {
    window_ = window;
    features_ = features_of(window);
    const LevelVector before = levels_.now();
    const std::string action = window.action < actions_.actions.size()
                                   ? actions_.actions[window.action].name
                                   : fmt::format("number {}", window.action);
    report_ = report_of(window, action, levels_.update(features_), totals_.windows == 0 ? nullptr : &before,
                        events_);
    events_.clear();
  }

  Experience experience_of(const LabelledWindow& labelled) const {
    Experience experience;
    experience.run = options_.run;
    experience.graph = options_.graph;
    experience.action_set = actions_.key();
    experience.sequence = window_.sequence;
    experience.features = features_;
    experience.report = report_;
    experience.costs = labelled.costs;
    experience.best = labelled.best;
    return experience;
  }

  /// The question that is out gets no answer.
  void fail(std::string_view why, TimePoint now) {
    failure_ = one_line(why, kMostOfAText);
    breaker_.failed(now);
    log_.settled(question_->sequence, nullptr, false);
    question_.reset();
    failed_ = true;
  }

  bool take_from_cache() {
    if (answer_ || breaker_.state() != Breaker::State::kClosed) {
      return false;
    }
    const Decision* found = cache_.find(features_, window_.sequence);
    if (found == nullptr) {
      return false;
    }
    answer_ = Answer{*found, features_, true, false};
    answer_->decision.sequence = window_.sequence;
    answer_->decision.seconds = 0;
    answer_->decision.from_model = false;
    ++totals_.decisions;
    log_.await();
    due_ = false;
    return true;
  }

  bool ask(TimePoint now) {
    if (!breaker_.lets_through(now)) {
      return false;
    }
    question_ = Question{window_.sequence, features_};
    log_.await();
    due_ = false;
    return true;
  }

  void take_answer(const Decision& decision) {
    if (totals_.latencies.size() < kMaxLatencies) {
      totals_.latencies.push_back(decision.seconds);
    } else {
      totals_.latencies[answers_ % kMaxLatencies] = decision.seconds;
    }
    ++answers_;
    ++totals_.decisions;
    if (decision.from_model) {
      ++totals_.model_calls;
      totals_.valid_replies += decision.valid_reply ? 1U : 0U;
    }
    const bool astray = !question_ || question_->sequence != decision.sequence;
    if (answer_ && astray) {
      count(decision, Verdict::kStale);
      return;
    }
    if (answer_) {  // two answers between two settlements: the newer one counts
      count(answer_->decision, Verdict::kStale);
      remember(answer_->decision, Verdict::kStale);
    }
    answer_ = Answer{decision, astray ? Features{} : question_->features, false, astray};
    if (!astray) {
      question_.reset();
    }
  }

  [[nodiscard]] std::uint64_t staleness(const Decision& decision) const {
    return window_.sequence - std::min(window_.sequence, decision.sequence);
  }

  void count(const Decision& decision, Verdict verdict) {
    totals_.applied += verdict == Verdict::kApplied ? 1U : 0U;
    totals_.dropped += is_let_through(verdict) ? 0U : 1U;
    totals_.staleness_windows += staleness(decision);
  }

  /// What cannot be made sense of is not remembered as a decision.
  void remember(const Decision& decision, Verdict verdict) {
    const bool sound = decision.action < actions_.actions.size() && std::isfinite(decision.confidence) &&
                       std::isfinite(decision.seconds);
    Decision kept = decision;
    kept.reason = one_line(decision.reason, kMostOfAText);
    log_.settled(decision.sequence, sound ? &kept : nullptr, sound && is_let_through(verdict));
  }

  [[nodiscard]] Verdict verdict_on(const Answer& answer) const {
    if (answer.astray) {
      return Verdict::kStale;
    }
    return breaker_.state() == Breaker::State::kOpen
               ? Verdict::kBreakerOpen
               : judge(answer.decision, actions_, window_.sequence, held_.action(),
                       held_.windows_since_change(), evaluator_, options_.guard);
  }

  void settle_answer(DecisionRecord& record, TimePoint now) {
    const Answer answer = *std::exchange(answer_, std::nullopt);
    record.verdict = verdict_on(answer);
    record.decision = answer.decision;
    record.from_cache = answer.from_cache;
    record.staleness = staleness(answer.decision);
    count(answer.decision, record.verdict);
    if (answer.astray) {
      return;
    }
    remember(answer.decision, record.verdict);
    if (answer.from_cache) {
      if (record.verdict == Verdict::kNegativeBenefit) {
        cache_.clear();  // the world is another one
      }
      return;
    }
    tell_breaker(record.verdict, now);
    if (is_let_through(record.verdict) || record.verdict == Verdict::kCoolingDown) {
      cache_.put(answer.features, answer.decision);
    }
  }

  /// An open one does not listen.
  void tell_breaker(Verdict verdict, TimePoint now) {
    switch (verdict) {
      case Verdict::kNegativeBenefit:
        breaker_.was_dropped(now);
        break;
      case Verdict::kStale:
      case Verdict::kInvalidReply:
      case Verdict::kUnknownAction:
        breaker_.failed(now);
        break;
      default:
        breaker_.succeeded();
    }
  }

  void bring_totals_up() {
    totals_.cache_hits = cache_.saved();
    totals_.breaker_openings = breaker_.openings();
    totals_.predictions = log_.totals().predictions;
    totals_.right_directions = log_.totals().right_directions;
    totals_.memory_errors = log_.totals().errors;
    totals_.memory_error = log_.totals().first_error;
  }

  const ActionSet& actions_;
  const ControllerOptions options_;
  Trigger trigger_;
  Breaker breaker_;
  Evaluator evaluator_;
  DecisionCache cache_;
  Levels levels_;
  ExperienceLog log_;
  HeldAction held_;
  ControllerTotals totals_;
  std::uint64_t answers_ = 0;

  Window window_;  ///< the last one
  Features features_{};
  Report report_;
  std::vector<std::string> events_;  ///< for the next report

  bool due_ = false;                  ///< the trigger fired and nobody was asked since
  std::optional<Question> question_;  ///< that is out
  std::optional<Answer> answer_;      ///< not settled
  bool failed_ = false;               ///< a question got no answer since the last settlement
  std::string failure_;               ///< why the last one that got none did not
};

Controller::Controller(const ActionSet& actions, Memory* memory, const ControllerOptions& options)
    : impl_(std::make_unique<Impl>(actions, memory, options)) {}
Controller::~Controller() {
  finish();
}

void Controller::note(std::string event) {
  impl_->note(std::move(event));
}
bool Controller::window_ended(const LabelledWindow& labelled, TimePoint now) {
  return impl_->window_ended(labelled, now);
}
const Window& Controller::question() const {
  return impl_->window();
}
const Report& Controller::report() const {
  return impl_->report();
}
void Controller::answered(const Result<Decision>& decision, TimePoint now) {
  impl_->answered(decision, now);
}
DecisionRecord Controller::settle(TimePoint now) {
  return impl_->settle(now);
}
void Controller::finish() {
  impl_->finish();
}
std::size_t Controller::action() const {
  return impl_->action();
}
const ControllerTotals& Controller::totals() const {
  return impl_->totals();
}
const Breaker& Controller::breaker() const {
  return impl_->breaker();
}
const Evaluator& Controller::evaluator() const {
  return impl_->evaluator();
}

}  // namespace rudder::steer

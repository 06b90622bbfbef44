// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/pilot.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/log.h"
#include "rudder/core/machine.h"
#include "rudder/core/text.h"
#include "rudder/metrics/json_lines.h"

#include "steer/decider_desk.h"
#include "steer/live_windows.h"
#include "steer/pilot_figures.h"
#include "steer/planner_side.h"
#include "steer/spsc_ring.h"
#include "steer/wakeup.h"

namespace rudder::steer {
namespace {

constexpr std::size_t kMostOfAFailure = 400;                // bytes of a message
constexpr Duration kIdle = std::chrono::milliseconds(200);  // between looks that nobody called for

std::string text_of(const cache::Counts& counts) {
  return fmt::format("{} requests, {} hits, {} fetched, {} bypassed", counts.requests, counts.hits,
                     counts.fetched, counts.bypassed);
}

/// A line of decisions.jsonl: where and when, what the window was like, what was settled.
std::string line_of(const DecisionRecord& record, const FinishedWindow& window, double replayed_seconds,
                    double time, const ActionSet& actions, const Evaluator& evaluator) {
  const Features features = features_of(window.window);
  const std::string settled = json_of(record, actions);
  const auto excess = [&](std::size_t action) {
    const double value = evaluator.excess(action).value_or(0);
    return std::isfinite(value) ? value : 1e9;  // JSON has no infinity
  };
  return fmt::format(R"({{"step":{},"time":{:.6f},"held":"{}","hit_rate":{:.6f},"fetched":{},)"
                     R"("stall_share":{:.6f},"link_bytes_per_second":{:.0f},"seconds":{:.6f},)"
                     R"("replayed_seconds":{:.6f},"excess":{:.9g},"fallback_excess":{:.9g},{})",
                     window.window.end, time, actions.actions[window.action].name, features[kHitRate],
                     window.counts.fetched, features[kStallShare], window.window.link_bytes_per_second,
                     window.seconds, replayed_seconds, excess(record.applied), excess(actions.fallback),
                     settled.substr(1));
}

Status check_options(const PilotOptions& options, const PilotCrew& crew) {
  const auto within = [](std::string_view name, std::size_t value, std::size_t low, std::size_t high) {
    return value >= low && value <= high
               ? Status()
               : Status(Error{Errc::kInvalidArgument,
                              fmt::format("pilot: {} {} is not within {}..{}", name, value, low, high)});
  };
  RUDDER_TRY(within("window", options.window, 1, kMostWindow));
  RUDDER_TRY(within("horizon", options.horizon, 1, 64));
  RUDDER_TRY(within("backlog", options.backlog, 2, 4096));
  RUDDER_TRY(within("owners", options.owners.size(), 2, std::size_t{1} << 20));
  RUDDER_TRY(check(options.controller.trigger));
  RUDDER_CHECK(crew.actions != nullptr && crew.decider != nullptr, "a pilot needs actions and a decider");
  for (const Action& action : crew.actions->actions) {
    if (action.setting.depth > options.depth) {
      return Error{Errc::kInvalidArgument, fmt::format("action {}: the buffer goes {} batches ahead, not {}",
                                                       action.name, options.depth, action.setting.depth)};
    }
  }
  return {};
}

}  // namespace

class Pilot::Impl {
 public:
  Impl(PilotOptions options, PilotCrew crew, std::optional<metrics::JsonLines> log)
      : options_(lagging(std::move(options))),
        crew_(std::move(crew)),
        planner_(*crew_.actions, options_, wakeup_),
        trained_ring_(options_.backlog * options_.window + 64),
        log_(std::move(log)),
        figures_(options_.figures, options_.rank, *crew_.actions),
        controller_(std::make_unique<Controller>(*crew_.actions, crew_.memory.get(), options_.controller)),
        windows_(options_, planner_.terms(0, {}).ahead, planner_, trained_ring_),
        begin_(steady_clock().now()),
        desk_(*crew_.decider, crew_.model.get(), runs_idle(), wakeup_),
        thread_([this] { run(); }) {}
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] PlannerSide& planner() noexcept { return planner_; }
  [[nodiscard]] const ActionSet& actions() const noexcept { return *crew_.actions; }

  void trained(const TrainedBatch& batch, bool rebase) noexcept {
    note_.rebase = rebase;
    note_.step = trained_.load(std::memory_order_relaxed);
    note_.planned = planner_.batches_planned();
    note_.batch = batch;
    trained_.fetch_add(rebase ? 0U : 1U, std::memory_order_relaxed);
    // Without room the batch's figures are lost, and its window is not decided on.
    static_cast<void>(trained_ring_.push(note_));
    wakeup_.call();
  }

  void finish(Duration patience) {
    {
      std::unique_lock lock(mutex_);
      finishing_.store(true, std::memory_order_release);
      wakeup_.call();
      ended_.wait_for(lock, patience, [&] { return done_; });
    }
    stop();
  }

  void stop() {
    stopping_.store(true, std::memory_order_release);
    planner_.stop();
    wakeup_.call();
    if (thread_.joinable()) {
      thread_.join();
      desk_.stop();
      add_up();
    }
  }

  [[nodiscard]] const PilotTotals& totals() const noexcept { return totals_; }

 private:
  /// Asynchronously, what is settled at a window's end holds from the window after the next one on.
  static PilotOptions lagging(PilotOptions options) {
    options.controller.lag = options.synchronous ? 0 : 1;
    return options;
  }
  [[nodiscard]] bool runs_idle() const { return options_.idle_priority && !options_.synchronous; }
  [[nodiscard]] bool is_stopping() const { return stopping_.load(std::memory_order_acquire); }

  void run() {
    name_this_thread("rudder-steer");
    if (runs_idle()) {
      if (const Status lowered = run_this_thread_when_idle(); !lowered.ok()) {
        log_warning("steering goes on at the usual priority: " + lowered.error().message);
      }
    }
    while (!is_stopping()) {
      const bool last = finishing_.load(std::memory_order_acquire);
      if (auto window = windows_.next()) {
        window_ended(std::move(*window));
      } else if (last) {
        if (auto rest = windows_.rest()) {
          static_cast<void>(replay(*rest));
        }
        break;
      } else {
        take_answers();
        wakeup_.wait(kIdle);
      }
    }
    controller_->finish();
    const std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

  void window_ended(FinishedWindow window) {
    const Counterfactual::Labels labels = replay(window);
    if (!window.observed) {
      ++unobserved_;
      return;
    }
    const LabelledWindow ended = labelled(window.window, labels.costs, actions().fallback);
    desk_.learn(ended);
    take_answers();
    if (controller_->window_ended(ended, steady_clock().now())) {
      desk_.ask(controller_->question(), controller_->report());
      await_answer(controller_->question().sequence);
    }
    const DecisionRecord record = controller_->settle(steady_clock().now());
    planner_.publish(record.sequence, record.applied);
    figures_.settled(record, unobserved_ + windows_.dropped());
    write(line_of(record, window, labels.replayed_seconds, to_seconds(steady_clock().now() - begin_),
                  actions(), controller_->evaluator()));
    if (options_.on_settled) {
      options_.on_settled(record);
    }
  }

  /// Runs the window again, as it was and as it would have been.
  Counterfactual::Labels replay(FinishedWindow& window) {
    if (window.twin) {
      counterfactual_ = std::make_unique<Counterfactual>(actions(), *window.twin, options_.horizon);
    }
    Counterfactual::Labels labels = counterfactual_->window_ended(std::move(window.accesses), window.action);
    ++totals_.replayed;
    totals_.seconds += window.seconds;
    totals_.replayed_seconds += labels.replayed_seconds;
    if (labels.replayed != window.counts) {
      figures_.mismatched();
      if (totals_.mismatches++ == 0) {
        totals_.first_mismatch = fmt::format("window {}: {} live, {} replayed", window.window.sequence,
                                             text_of(window.counts), text_of(labels.replayed));
        log_warning("steering: the replay differs from the live buffer: " + totals_.first_mismatch);
      }
    }
    return labels;
  }

  void take_answers() {
    while (const auto answer = desk_.take_answer()) {
      answered_ = answer->ok() ? (*answer)->sequence : asked_;
      if (!answer->ok()) {
        tell_failure(answer->error().message);
      }
      controller_->answered(*answer, steady_clock().now());
    }
  }

  /// Each failure once, of the first few: a model that is not there fails at every window.
  void tell_failure(const std::string& why) {
    constexpr std::size_t kMostTold = 3;
    if (told_.size() < kMostTold && std::find(told_.begin(), told_.end(), why) == told_.end()) {
      log_warning(fmt::format("steering of rank {}: no answer: {}; the fallback holds meanwhile",
                              options_.rank, one_line(why, kMostOfAFailure)));
      told_.push_back(why);
    }
  }

  /// Until the answer, or asynchronously until the next batch has been trained on: what comes before that
  /// batch's border counts as there. A decider without a model has its answer at once. For a run that is over
  /// no model is waited for.
  void await_answer(std::uint64_t sequence) {
    asked_ = sequence;
    answered_.reset();
    const Deadline deadline = Deadline::in(options_.patience);
    while (!is_stopping() && !deadline.passed()) {
      take_answers();
      const bool too_late =
          finishing_.load(std::memory_order_acquire) || (!options_.synchronous && trained_ring_.size() > 0);
      if (answered_ == sequence || (crew_.model != nullptr && too_late)) {
        return;
      }
      wakeup_.wait(std::min(kIdle, options_.patience));
    }
  }

  void write(const std::string& line) {
    if (!log_) {
      return;
    }
    if (const Status written = log_->write(line); !written.ok()) {
      log_warning("steering: no more decisions are noted: " + written.error().message);
      log_.reset();
    }
  }

  /// With the threads joined.
  void add_up() {
    const PlannerTotals planner = planner_.totals();
    totals_.controller = controller_->totals();
    totals_.windows = trained_.load(std::memory_order_relaxed) / options_.window;
    totals_.dropped = totals_.windows - totals_.controller.windows;
    totals_.resumed = windows_.begun() > 0 ? windows_.begun() - 1 : 0;
    totals_.changes = planner.changes;
    totals_.overtaken = planner.overtaken;
    totals_.late = planner.late;
    totals_.waits = planner.waits;
    totals_.overdue = planner.overdue;
    totals_.wait_seconds = planner.wait_seconds;
  }

  const PilotOptions options_;
  const PilotCrew crew_;
  Wakeup wakeup_;
  PlannerSide planner_;
  SpscRing<TrainedNote> trained_ring_;

  // The trainer's.
  TrainedNote note_;
  std::atomic<StepId> trained_{0};  ///< batches; others read it as a figure

  // The steering thread's.
  std::optional<metrics::JsonLines> log_;
  PilotFigures figures_;
  std::unique_ptr<Controller> controller_;
  LiveWindows windows_;
  std::unique_ptr<Counterfactual> counterfactual_;
  std::uint64_t asked_ = 0;
  std::optional<std::uint64_t> answered_;  ///< the window that the last answer was on
  std::uint64_t unobserved_ = 0;           ///< windows
  PilotTotals totals_;
  std::vector<std::string> told_;  ///< failures
  const TimePoint begin_;

  std::atomic<bool> stopping_{false}, finishing_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  DeciderDesk desk_;
  std::thread thread_;
};

Result<std::unique_ptr<Pilot>> Pilot::create(PilotOptions options, PilotCrew crew) {
  RUDDER_TRY(check_options(options, crew));
  std::optional<metrics::JsonLines> log;
  if (!options.log.empty()) {
    RUDDER_ASSIGN(log, metrics::JsonLines::open(options.log, options.append_log));
  }
  return std::unique_ptr<Pilot>(
      new Pilot(std::make_unique<Impl>(std::move(options), std::move(crew), std::move(log))));
}

Pilot::Pilot(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pilot::~Pilot() = default;

cache::SteerTerms Pilot::terms(SlotId slots, const cache::PolicySettings& settings) const {
  return impl_->planner().terms(slots, settings);
}
Status Pilot::begin(const cache::Planner& planner, std::shared_ptr<const cache::PolicyContext> context) {
  return impl_->planner().begin(planner, std::move(context));
}
std::optional<cache::Steer> Pilot::before(StepId step) {
  return impl_->planner().before(step);
}
void Pilot::pushed(StepId step, std::span<const NodeId> rows) {
  impl_->planner().pushed(step, rows);
}
void Pilot::planned(const cache::Plan& plan, const cache::Planner& planner) {
  impl_->planner().planned(plan, planner);
}
cache::Pace Pilot::pace() const {
  return impl_->planner().pace();
}
void Pilot::trained(const TrainedBatch& batch) noexcept {
  impl_->trained(batch, false);
}
void Pilot::rebase(const Traffic& traffic) noexcept {
  TrainedBatch batch;
  batch.traffic = traffic;
  impl_->trained(batch, true);
}
void Pilot::finish(Duration patience) {
  impl_->finish(patience);
}
void Pilot::stop() {
  impl_->stop();
}
const PilotTotals& Pilot::totals() const {
  return impl_->totals();
}
const ActionSet& Pilot::actions() const {
  return impl_->actions();
}

}  // namespace rudder::steer

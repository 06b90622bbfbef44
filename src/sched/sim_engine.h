// SPDX-License-Identifier: Apache-2.0
// The simulated cluster's state. Time moves only in `run`.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "rudder/sched/simulator.h"

namespace rudder::sched {

class SimEngine final : public Engine {
 public:
  SimEngine(const Cluster& cluster, const Trace& trace, const SimOptions& options);
  [[nodiscard]] Result<SimResult> run();

  [[nodiscard]] Result<Snapshot> snapshot() override;
  [[nodiscard]] Status apply(const Plan& plan) override;

 private:
  /// At one time in this order: who ends makes room before others arrive.
  enum class EventKind : std::uint8_t { kFinish, kVacate, kDown, kUp, kSubmit, kWake };
  struct Event {
    Time at = 0;
    EventKind kind = EventKind::kWake;
    std::int32_t subject = 0;     ///< job or host
    std::int32_t generation = 0;  ///< of the job's stay, for kFinish and kVacate
    [[nodiscard]] auto operator<=>(const Event&) const = default;
  };
  struct Progress {
    Time work = 0;      ///< seconds still to be done
    Time overhead = 0;  ///< restart at the beginning of the present stay
    bool saved = false;
    std::int32_t generation = 0;  ///< stays so far
    std::int32_t at = -1;         ///< in running_, -1: not running
    std::int32_t record = -1;     ///< in result_.runs
  };

  void push(Time at, EventKind kind, std::int32_t subject, std::int32_t generation = 0);
  void seed_events();
  void handle(const Event& event);
  void submit(std::int32_t job);
  void enqueue(std::int32_t job);
  void dequeue(std::int32_t job);
  [[nodiscard]] std::vector<WaitingJob>::iterator place_in_queue(const WaitingJob& entry);
  /// Whether time cannot change the order of waiting jobs: no age is capped.
  [[nodiscard]] bool order_is_stable() const;
  [[nodiscard]] bool can_ever_run(const JobSpec& job) const;
  [[nodiscard]] Time estimate(std::int32_t job) const;
  void start(const Start& start);
  void leave(std::int32_t job, RunEnd how);
  void evict(std::int32_t job, RunEnd how);
  void reserve(const Zone& zone);
  void set_up(HostId host, bool up);
  void occupy(const RunningJob& run, std::int32_t sign);
  void note_arrivals();
  void note_retention(const Zone& zone);
  void advance(Time to);
  [[nodiscard]] const JobSpec& spec(std::int32_t job) const {
    return trace_.jobs[static_cast<std::size_t>(job)].spec;
  }
  [[nodiscard]] bool idle(std::size_t host) const {
    return nodes_[host].up && nodes_[host].free == cluster_.gpus[host];
  }

  const Cluster& cluster_;
  const Trace& trace_;
  const SimOptions& options_;
  Time now_ = 0;
  std::vector<NodeState> nodes_;
  std::vector<std::int32_t> outages_;     ///< that hold each host down at present
  std::vector<std::int32_t> idle_hosts_;  ///< of each minipod
  std::vector<WaitingJob> waiting_;
  std::vector<RunningJob> running_;
  std::vector<Zone> zones_;
  std::optional<HeadPlan> head_;
  std::vector<Progress> progress_;
  std::vector<Time> zone_made_;  ///< of each planned job
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t used_gpus_ = 0;
  std::int64_t up_gpus_ = 0;
  SimResult result_;
};

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
// A real Slurm as the engine of the planner. Nothing is kept that a restart could lose: who is placed where,
// whose zone lies where and who was told to leave stands in Slurm (a job's node list and AdminComment, holds,
// reservations "rudder-JOB"), and every command line can be given twice.
//
// Order of the writes, so that a planner may die between any two:
//   zone       node list and note on the held job, then the reservation (made from them when missing)
//   start      node list, note and reservation on the held job, then the host file, then the release
//   preemption claim with its victims as a zone, then each victim: note, SIGTERM, requeue into hold
//   dropped    note and node list of the job, then its reservation
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rudder/sched/planner.h"
#include "rudder/sched/slurm_notes.h"
#include "rudder/sched/slurm_state.h"

namespace rudder::sched {

struct SlurmOptions {
  std::string partition{};        ///< whose nodes and jobs are driven
  std::filesystem::path hosts{};  ///< folder of host files JOB.hosts; empty: none are written
  Time grace = 0;                 ///< between SIGTERM and the requeue (which has Slurm's KillWait of its own)
  Time start_patience = 60;       ///< a released job that has not started by then is held and planned anew
  std::int32_t minipod_level = 1;  ///< distance of minipods from the root of the topology
};

/// A command line, or a file to be written in its place.
struct SlurmCommand {
  std::vector<std::string> words;
  std::filesystem::path file;  ///< not empty: `text` goes there and `words` is empty
  std::string text;
  [[nodiscard]] std::string describe() const;
};

/// Commands that belong together: the rest is left out when one fails, and what was done is taken up by the
/// next cycle.
struct SlurmAction {
  std::string kind;  ///< "start", "reserve", "release-zone", "requeue", "hold", "replace", "reject",
                     ///< "detach", "defer" (a start that has no commands because Slurm would not let it in)
  JobId job = 0;
  std::string reason;  ///< for people
  std::vector<SlurmCommand> commands;
};

/// A waiting, running or released job of the planner's.
struct DrivenJob {
  const SlurmJob* slurm = nullptr;
  const JobSpec* spec = nullptr;
  JobRequest request;
  SlurmNote note;
  std::vector<HostId> placed;  ///< row-major cells; empty when its node list is not the planner's
};

/// A state of Slurm as the planner sees it. Hosts are whole nodes: of one "GPU" each.
class SlurmView {
 public:
  /// The arguments must outlive the view.
  SlurmView(const place::Topology& topology, const Cluster& cluster, const SlurmState& state,
            const SlurmOptions& options);
  SlurmView(const SlurmView&) = delete;
  SlurmView& operator=(const SlurmView&) = delete;
  ~SlurmView();

  [[nodiscard]] Snapshot snapshot() const;
  /// What is to be done before planning: rejections, requeues whose grace is over or that were cut short,
  /// gangs that Slurm cannot start (held again, or their lost hosts replaced at the least rise of J),
  /// reservations that differ from the zones.
  [[nodiscard]] std::vector<SlurmAction> tidy() const;
  /// A plan as commands, in the order of the writes.
  [[nodiscard]] std::vector<SlurmAction> carry_out(const Plan& plan) const;
  /// Driven jobs that the planner does not see, and why ("held by an administrator").
  [[nodiscard]] std::vector<std::pair<JobId, std::string>> set_aside() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class SlurmEngine final : public Engine {
 public:
  /// Runs a command line to its end within a deadline of its own and returns its standard output.
  using Runner = std::function<Result<std::string>(const std::vector<std::string>&)>;
  using Clock = std::function<Time()>;  ///< seconds since 1970
  /// Told of every action before its commands run, and again with the error if one failed.
  using Observer = std::function<void(const SlurmAction&, const Error*)>;

  /// Reads nodes and topology: those of Slurm, or `topology` when given. An empty partition is the cluster's
  /// only one. Errors: kInvalidArgument when there are several; those of the runner and of parsing.
  [[nodiscard]] static Result<std::unique_ptr<SlurmEngine>> open(SlurmOptions options, Runner runner,
                                                                 Clock clock,
                                                                 std::optional<place::Topology> topology);
  ~SlurmEngine() override;

  /// With `dry`, reads and plans but gives no command.
  void set_dry(bool dry) noexcept { dry_ = dry; }
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  [[nodiscard]] Result<Snapshot> snapshot() override;
  /// Commands that fail are told to the observer and counted, not returned: the next cycle sees what is.
  [[nodiscard]] Status apply(const Plan& plan) override;
  /// Puts right what does not need the planner.
  [[nodiscard]] Status tidy();
  /// Tidies and plans, again while that may let somebody start. Errors: those of reading the state.
  [[nodiscard]] Status cycle(Planner& planner);

  [[nodiscard]] const Cluster& cluster() const noexcept { return cluster_; }
  [[nodiscard]] const SlurmOptions& options() const noexcept { return options_; }
  [[nodiscard]] const SlurmView& view() const { return *view_; }      ///< of the last snapshot
  [[nodiscard]] const Plan& last_plan() const { return last_plan_; }  ///< of the last cycle
  [[nodiscard]] std::int64_t failures() const noexcept { return failures_; }

 private:
  SlurmEngine(SlurmOptions options, Runner runner, Clock clock);
  [[nodiscard]] Status read();
  void perform(const std::vector<SlurmAction>& actions);

  SlurmOptions options_;
  Runner runner_;
  Clock clock_;
  Observer observer_;
  place::Topology topology_;
  Cluster cluster_;
  SlurmState state_;
  std::unique_ptr<SlurmView> view_;
  std::optional<HeadPlan> head_;
  Plan last_plan_;
  std::int64_t failures_ = 0;
  bool dry_ = false;
};

}  // namespace rudder::sched

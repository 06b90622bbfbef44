// SPDX-License-Identifier: Apache-2.0
// The parts of SlurmView: made in slurm_view.cc; what follows from it is in slurm_tidy.cc and
// slurm_carry_out.cc.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rudder/sched/slurm_engine.h"

#include "sched/slurm_commands.h"

namespace rudder::sched {

struct SlurmView::Impl {
  Impl(const place::Topology& the_topology, const Cluster& the_cluster, const SlurmState& the_state,
       const SlurmOptions& the_options);

  // slurm_view.cc
  void see_nodes();
  void see_pending(const SlurmJob& job);
  void see_held(const SlurmJob& job, DrivenJob driven);
  void see_released(const SlurmJob& job, DrivenJob driven);
  void see_running(const SlurmJob& job);
  void see_reservations();
  void reject(const SlurmJob& job, std::string why);
  [[nodiscard]] Result<JobSpec> spec_of(const SlurmJob& job, const JobRequest& request) const;
  [[nodiscard]] const JobSpec* keep(JobSpec spec);
  /// The node list in rank order as row-major cells; nothing unless it is what the note says.
  [[nodiscard]] std::vector<HostId> placement_of(const SlurmJob& job, const DrivenJob& driven) const;
  [[nodiscard]] const Zone* zone_of(JobId job) const;
  [[nodiscard]] const SlurmReservation* reservation(const std::string& name) const;
  [[nodiscard]] bool partition_is(const SlurmJob& job) const;

  // slurm_carry_out.cc
  /// Names in rank order of row-major cells, and back.
  [[nodiscard]] std::vector<std::string> ranked_names(const DrivenJob& driven,
                                                      std::span<const HostId> hosts) const;
  [[nodiscard]] std::optional<SlurmCommand> host_file(const DrivenJob& driven,
                                                      const std::vector<std::string>& ranked) const;
  [[nodiscard]] SlurmZone reservation_of(const Zone& zone) const;
  /// What makes the reservation equal to the zone, if anything has to be done.
  [[nodiscard]] std::optional<SlurmCommand> settle_reservation(const Zone& zone) const;
  /// The owner and those who wait, released, to start inside.
  [[nodiscard]] std::vector<std::string> users_of(JobId owner) const;
  /// The reservation that the start has to name, or ""; nothing when it would need two.
  [[nodiscard]] std::optional<std::string> enter_zone(const Start& start, std::span<const Zone> held,
                                                      SlurmAction& action) const;
  [[nodiscard]] SlurmAction start_action(const Start& start, std::span<const Zone> zones) const;
  [[nodiscard]] SlurmAction reserve_action(const Zone& zone, const Plan& plan) const;
  [[nodiscard]] SlurmAction requeue_action(JobId job, JobId in_favour, std::string reason) const;
  [[nodiscard]] SlurmAction drop_action(JobId job) const;

  // slurm_tidy.cc
  void tidy_rejected(std::vector<SlurmAction>& actions) const;
  void tidy_leaving(std::vector<SlurmAction>& actions) const;
  void tidy_claims(std::vector<SlurmAction>& actions) const;
  void tidy_released(std::vector<SlurmAction>& actions) const;
  void tidy_attached(std::vector<SlurmAction>& actions) const;
  void tidy_reservations(std::vector<SlurmAction>& actions) const;
  [[nodiscard]] std::optional<SlurmAction> settle_released(const DrivenJob& driven) const;
  [[nodiscard]] std::optional<SlurmAction> replace_action(const DrivenJob& driven,
                                                          const std::vector<std::string>& lost) const;

  const place::Topology& topology;
  const Cluster& cluster;
  const SlurmState& state;
  const SlurmOptions& options;

  std::unordered_map<std::string, HostId> ids;
  std::vector<NodeState> nodes;
  std::vector<std::int32_t> occupants;  ///< of each host: jobs that run there, others' placements
  std::deque<JobSpec> specs;            ///< addresses stay
  std::vector<WaitingJob> waiting;
  std::vector<RunningJob> running;
  std::vector<Zone> zones;
  std::map<JobId, DrivenJob> driven;  ///< waiting, released or running
  std::vector<JobId> released;        ///< placed, not held, not started
  std::vector<JobId> astray;          ///< not held although nobody placed them
  std::map<JobId, std::string> rejected;
  std::vector<std::pair<JobId, std::string>> aside;
};

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
// What Slurm's client commands say about a cluster, as values. Written for 22.05; newer spellings of the same
// JSON (numbers as {"set","infinite","number"}, states as arrays, "hold") are read too.
//
// All errors are kInvalidData and name the command, the job, node or line, and the value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/topology.h"
#include "rudder/sched/job.h"

namespace rudder::sched {

enum class SlurmPhase : std::uint8_t {
  kPending,
  kRunning,     ///< has its nodes: running, configuring, suspended, stopped, ...
  kCompleting,  ///< is ending, still has its nodes; may become pending again
  kEnded,
};

struct SlurmJob {
  JobId id = 0;
  std::string name;
  std::string user;
  std::string account;
  std::string partition;
  std::string comment;        ///< the user's
  std::string admin_comment;  ///< only operators write it
  std::string state;          ///< as Slurm spells it
  std::string reason;         ///< why it is pending
  std::string dependency;
  std::string reservation;
  SlurmPhase phase = SlurmPhase::kPending;
  bool held = false;
  bool requeue = false;    ///< Slurm may requeue it
  bool composite = false;  ///< part of an array or of a heterogeneous job
  std::int32_t nodes = 0;
  std::int32_t tasks = 0;
  std::int32_t restarts = 0;
  Time submit = 0;      ///< of the last requeue, if there was one; seconds since 1970, as all times
  Time start = 0;       ///< pending jobs: not to begin before; 0: unknown
  Time eligible = 0;    ///< 0: held since its submission
  Time limit = kNever;  ///< seconds
  std::vector<std::string> hosts;     ///< that it has, in the node table's order
  std::vector<std::string> required;  ///< of its node list, in the order in which it was written
};

/// `squeue --json --states=all`. Jobs by id. A node list of a user that does not parse counts as none.
[[nodiscard]] Result<std::vector<SlurmJob>> parse_squeue(std::string_view json);

enum class SlurmNodeUse : std::uint8_t {
  kIdle,  ///< includes nodes that a reservation or the backfill scheduler keeps idle
  kTaken,
  kDown,  ///< down, drained, draining, failing, in maintenance, not responding, ...
};

struct SlurmNode {
  std::string name;
  SlurmNodeUse use = SlurmNodeUse::kIdle;
};

/// `sinfo -h -N -o '%N %T'`: a line a node (several partitions: several equal lines). By name.
[[nodiscard]] Result<std::vector<SlurmNode>> parse_sinfo(std::string_view text);

struct SlurmReservation {
  std::string name;
  Time start = 0;
  Time end = 0;
  std::vector<std::string> nodes;  ///< in natural order of names
  std::vector<std::string> users;  ///< sorted
};

/// `scontrol show reservation -o` with SLURM_TIME_FORMAT=%s. Reservations without nodes are left out.
[[nodiscard]] Result<std::vector<SlurmReservation>> parse_reservations(std::string_view text);

/// `scontrol show topology -o` of topology/tree or topology/block; a cluster without either is one switch
/// with all of `nodes`.
[[nodiscard]] Result<place::Topology> parse_slurm_topology(std::string_view text,
                                                           const std::vector<SlurmNode>& nodes);

struct SlurmState {
  Time now = 0;  ///< when it was asked for
  std::vector<SlurmJob> jobs;
  std::vector<SlurmNode> nodes;
  std::vector<SlurmReservation> reservations;
};

}  // namespace rudder::sched

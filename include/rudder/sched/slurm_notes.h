// SPDX-License-Identifier: Apache-2.0
// What stands in a Slurm job's two comments: the user's wishes in Comment, the planner's notes in
// AdminComment.
//
// Comment: "rudder:" and words, separated by blanks, each at most once:
//   shape=RxC              grid of nodes: R pipelines of C stages; R C is the job's number of nodes
//   alpha=F                weight of the grid's columns (data parallelism), 0 to 1; default 0.5
//   order=column-major     how ranks are numbered (the default: stage by stage); or row-major
//   planned=TIME           wants its nodes at that time: 2026-11-30T04:00:00 (local) or seconds since 1970
//   estimate=DURATION      expected run time, when it is less than the job's limit
//   preemptible            may be requeued for others
//   priority=N             larger goes first; default 0
//   checkpoint=DURATION    between checkpoints
//   restart=DURATION       lost by a restart from a checkpoint
//   min-runtime=DURATION   not requeued before
// DURATION is a number of seconds, or one with s, m, h or d behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/plan.h"
#include "rudder/sched/snapshot.h"

namespace rudder::sched {

struct JobRequest {
  place::Grid grid;
  double alpha = 0.5;
  place::RankOrder order = place::RankOrder::kColumnMajor;
  Time planned = -1;
  Time estimate = 0;  ///< 0: the limit
  bool preemptible = false;
  std::int32_t priority = 0;
  Time checkpoint = 0;
  Time restart = 0;
  Time min_runtime = 0;
};

/// Whether a comment hands its job to the planner.
[[nodiscard]] bool is_marked(std::string_view comment) noexcept;
/// Errors: kInvalidData with the word, and a near-miss hint for an unknown one.
[[nodiscard]] Result<JobRequest> parse_request(std::string_view comment);

/// Where a job stands, as the planner last wrote it down.
enum class NoteKind : std::uint8_t {
  kNone,      ///< nothing, or nothing that this planner wrote
  kZone,      ///< held; its node list is its zone
  kPlaced,    ///< its node list is its placement; released, or about to be
  kLeaving,   ///< told to stop; is requeued when its grace ends
  kRejected,  ///< its comment is wrong
  kWaits,     ///< had a zone that was dropped
};

/// One line of "key=value" words. AdminComment cannot be written by users, the node list can: the digest says
/// whether the list is still the planner's.
struct SlurmNote {
  NoteKind kind = NoteKind::kNone;
  bool has_zone = false;  ///< zone; placed in its own zone
  ZoneKind zone = ZoneKind::kPlanned;
  Time arrival = 0;
  Time end = 0;
  Time expires = 0;
  double objective = 0;
  double bound = 0;
  std::string digest;          ///< of the node list
  std::vector<JobId> victims;  ///< of a claim: who has to leave
  Time since = 0;              ///< leaving
  JobId in_favour = 0;         ///< leaving
  std::string why;             ///< rejected
};

[[nodiscard]] std::string to_text(const SlurmNote& note);
/// A note that does not parse is kNone: whoever wrote it, it is no plan.
[[nodiscard]] SlurmNote parse_note(std::string_view text);
/// 16 hexadecimal digits of the SHA-256 of the names in their order.
[[nodiscard]] std::string digest_of(const std::vector<std::string>& hosts);

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
// What a step costs: a model of one trainer whose fetching shares a link with its all-reduce. Simulated time;
// what it says is compared with live runs where it is reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "rudder/steer/action.h"

namespace rudder::steer {

/// The world at one step.
struct Conditions {
  double compute_seconds = 0;
  double gradient_bytes = 0;         ///< all-reduced after each step's compute, over the same link
  double link_bytes_per_second = 1;  ///< of this host, shared by fetching and all-reduce
  double row_bytes = 0;              ///< on the wire
  double round_trip_seconds = 0;     ///< of a question to an owner
  /// Bytes a second that each owner can send, by owner; empty: as fast as the link.
  std::vector<double> owner_bytes_per_second;
  /// Memory for slots and for rows that wait staged, in rows.
  std::uint64_t memory_rows = 0;
};

/// What a planned batch moves: rows by owner.
struct Moved {
  std::vector<std::uint64_t> rows;
  [[nodiscard]] std::uint64_t total() const noexcept;
};

struct StepCost {
  double seconds = 0;  ///< from the end of the step before: stall + compute + all-reduce
  double stall_seconds = 0, compute_seconds = 0, all_reduce_seconds = 0;
  double fetch_seconds = 0;  ///< while its rows moved
};

/// Steps one after another. Batch t's rows may move as soon as batch t - 1's have and step t - depth has
/// begun (its memory is free then). A transfer takes its round trip, then as long as the slowest of its
/// owners and the link at its share: while an all-reduce runs, each gets half of the link, or the fetch less
/// when the setting limits its rate. The gradient moves when the step's compute ends, and the next step
/// begins when it has. How much of an all-reduce later fetches disturb is estimated by the share of the
/// step's time that its own fetch took: what comes later isn't known yet. Copyable: a copy goes on from the
/// same moment. O(owners + depth) a step.
class StepClock {
 public:
  StepCost step(const Conditions& conditions, const Moved& moved, const Setting& setting);
  /// Seconds since the first step could have begun.
  [[nodiscard]] double now() const noexcept { return step_end_; }

 private:
  struct Busy {
    double from = 0, to = 0;
  };
  [[nodiscard]] double moved_by(double from, double bytes, double link, double limit) const;

  double step_end_ = 0;        ///< of the step before
  double fetch_end_ = 0;       ///< of the batch before
  std::deque<double> begins_;  ///< of the last steps, newest last
  std::deque<Busy> reduces_;  ///< when all-reduces ran, in order; those that no later fetch can meet are gone
};

}  // namespace rudder::steer

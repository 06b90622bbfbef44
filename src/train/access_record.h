// SPDX-License-Identifier: Apache-2.0
// The remote rows that a rank's batches asked for, brought together on rank 0 at the end of a run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/transport/rendezvous.h"

namespace rudder::train {

/// Filled by one thread, batch by batch in order; read by another after the last batch was delivered.
class AccessRecord {
 public:
  /// `rows` ascending and distinct.
  void add(std::span<const NodeId> rows);
  /// Leaves this rank's record with the rendezvous.
  [[nodiscard]] Status publish(transport::Rendezvous& rendezvous, Rank rank) const;

 private:
  std::string encoded_;
  std::vector<std::byte> scratch_;
};

/// Rows by rank and step, of `world` published records; ids in [0, nodes). A timeout names the missing rank.
[[nodiscard]] Result<std::vector<std::vector<std::vector<NodeId>>>> collect_accesses(
    transport::Rendezvous& rendezvous, Rank world, NodeId nodes, Deadline deadline);

}  // namespace rudder::train

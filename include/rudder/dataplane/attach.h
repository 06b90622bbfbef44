// SPDX-License-Identifier: Apache-2.0
// A trainer's way to the buffer of its host's service.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/graph/partition.h"

namespace rudder::dataplane {

/// Attaches rank `rank` to the service at `socket` and waits until all trainers of the host have: at most
/// `deadline` for the service to come and as long again for the others. What the service refuses comes back
/// with its reason. The rows that the supply places lie in memory of the service, which this process can read
/// and not write. When the service ends, waits end with an error that names the socket.
[[nodiscard]] Result<std::unique_ptr<RowSupply>> attach(const graph::PartitionedGraph& graph, Rank rank,
                                                        const RunShape& run,
                                                        const std::filesystem::path& socket,
                                                        Duration deadline);

}  // namespace rudder::dataplane

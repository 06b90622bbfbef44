// SPDX-License-Identifier: Apache-2.0
// Which rank of how many this process is, from the variables of whatever started it.
#pragma once

#include <cstdint>
#include <string>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::launch {

/// Ranks are met through a TCP store that rank 0 opens at master_address:master_port.
struct RankEnvironment {
  Rank rank = 0;
  Rank world = 1;
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;
};

/// The first of these that is there, else a world of one:
///  1. RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT: torchrun, `rudder launch`, or by hand;
///  2. Open MPI's OMPI_COMM_WORLD_RANK and _SIZE (before Slurm's, which its daemons inherit under Slurm);
///  3. a Slurm step's SLURM_PROCID and SLURM_STEP_NUM_TASKS (srun; a batch script alone is no step).
/// With 2 and 3, MASTER_ADDR and MASTER_PORT say where the store is when they are set. Otherwise the address
/// is the loopback address when all ranks share a node, and rank 0's host under Slurm: the first of
/// SLURM_HOSTFILE with an arbitrary distribution, else the first of SLURM_STEP_NODELIST. Open MPI does not
/// tell where rank 0 is: over several nodes MASTER_ADDR is wanted. The port is a function of the job's and
/// the step's number, so that runs on one machine do not meet. A partial or contradictory set is an error
/// that names the variable and its value.
[[nodiscard]] Result<RankEnvironment> rank_from_environment();
/// This process's number among those of the run on this machine: LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK or
/// SLURM_LOCALID, as whoever started it sets; the rank when there is none.
[[nodiscard]] Result<std::uint32_t> local_rank(const RankEnvironment& environment);
/// A TCP port that is free on this machine now, below those that the system gives out by itself while one is.
[[nodiscard]] Result<std::uint16_t> free_port();

}  // namespace rudder::launch

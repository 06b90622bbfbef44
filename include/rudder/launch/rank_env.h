// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::launch {

struct RankEnvironment {
  Rank rank = 0;
  Rank world = 1;
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;
};

/// torchrun's variables RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT; none set: a world of one. A partial or
/// contradictory set is an error that names the variable and its value.
[[nodiscard]] Result<RankEnvironment> rank_from_environment();
/// A TCP port that is free on this machine now.
[[nodiscard]] Result<std::uint16_t> free_port();

}  // namespace rudder::launch

// SPDX-License-Identifier: Apache-2.0
// How the processes of a run, trainers or hosts' services, meet and what they send through.
#pragma once

#include <memory>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/train/options.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

namespace rudder::train {

struct Meeting {
  std::shared_ptr<transport::Rendezvous> rendezvous;
  std::unique_ptr<transport::Transport> transport;
};

/// Meets the other processes through rank 0's store, behind the run's secret, and opens UCX behind a link of
/// `link_bits_per_second` (behind_link()). With world 1 both are of this process alone. Blocks for at most
/// `deadline` a step; errors name who was waited for.
[[nodiscard]] Result<Meeting> meet(const RankInfo& who, double link_bits_per_second, Duration deadline);

/// `transport` behind a token-bucket link; itself with 0 bits per second.
[[nodiscard]] std::unique_ptr<transport::Transport> behind_link(
    std::unique_ptr<transport::Transport> transport, double bits_per_second);

}  // namespace rudder::train

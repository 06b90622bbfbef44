// SPDX-License-Identifier: Apache-2.0
#include "train/meet.h"

#include <cstddef>
#include <utility>

#include "train/collective.h"

namespace rudder::train {

std::unique_ptr<transport::Transport> behind_link(std::unique_ptr<transport::Transport> transport,
                                                  double bits_per_second) {
  constexpr std::size_t kBurstBytes = std::size_t{64} << 10;
  return bits_per_second <= 0
             ? std::move(transport)
             : transport::make_shaped_transport(std::move(transport), bits_per_second, kBurstBytes);
}

Result<Meeting> meet(const RankInfo& who, double link_bits_per_second, Duration deadline) {
  Meeting met;
  if (who.world == 1) {
    met.rendezvous = std::make_shared<transport::LocalRendezvous>();
    met.transport = std::move(transport::make_loopback_transports(1).front());
  } else {
    RUDDER_ASSIGN(met.rendezvous, make_tcp_rendezvous(who, deadline));
    RUDDER_ASSIGN(met.rendezvous, transport::authenticate(std::move(met.rendezvous), who.secret, who.rank,
                                                          who.world, Deadline::in(deadline)));
    RUDDER_ASSIGN(met.transport, transport::make_ucx_transport(who.rank, who.world));
  }
  met.transport = behind_link(std::move(met.transport), link_bits_per_second);
  return met;
}

}  // namespace rudder::train

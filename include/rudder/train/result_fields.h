// SPDX-License-Identifier: Apache-2.0
// The names of a result's numbers, once for every file that holds them.
#pragma once

#include "rudder/train/options.h"

namespace rudder::train {

/// Calls visit(name, field) for each field of an EpochResult, in the order in which files list them.
template <class Epoch, class Visit>
void for_each_field(Epoch& epoch, Visit visit) {
  visit("epoch", epoch.epoch);
  visit("loss", epoch.loss);
  visit("seconds", epoch.seconds);
  visit("compute_seconds", epoch.compute_seconds);
  visit("all_reduce_seconds", epoch.all_reduce_seconds);
  visit("stall_seconds", epoch.stall_seconds);
  visit("requests", epoch.requests);
  visit("hits", epoch.hits);
  visit("fetched", epoch.fetched);
  visit("payload_bytes", epoch.payload_bytes);
  visit("wire_bytes", epoch.wire_bytes);
  visit("messages", epoch.messages);
}

}  // namespace rudder::train

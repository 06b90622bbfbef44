// SPDX-License-Identifier: Apache-2.0
// What a host's buffer shows of itself.
#pragma once

#include <cstdint>
#include <string>

#include "rudder/core/ids.h"
#include "rudder/dataplane/plane.h"
#include "rudder/metrics/registry.h"

namespace rudder::dataplane {

/// Does nothing without a registry. For one thread at a time.
class BufferFigures {
 public:
  BufferFigures(const PlaneOptions& plane, SlotId slots) {
    if (plane.figures == nullptr) {
      return;
    }
    const metrics::Labels labels = {{"rank", std::to_string(plane.rank)}};
    plane.figures->gauge("rudder_buffer_slots", "Rows that the buffer can hold", labels).set(slots);
    occupied_ =
        &plane.figures->gauge("rudder_buffer_slots_occupied",
                              "Rows in the buffer once all plans made so far are carried out", labels);
    in_flight_ = &plane.figures->gauge("rudder_plans_in_flight",
                                       "Plans asked for whose rows are not all used yet", labels);
  }

  void planned(SlotId occupied) noexcept {
    if (occupied_ != nullptr) {
      occupied_->set(occupied);
    }
  }
  void in_flight(std::uint64_t plans) noexcept {
    if (in_flight_ != nullptr) {
      in_flight_->set(static_cast<double>(plans));
    }
  }

 private:
  metrics::Gauge* occupied_ = nullptr;
  metrics::Gauge* in_flight_ = nullptr;
};

}  // namespace rudder::dataplane

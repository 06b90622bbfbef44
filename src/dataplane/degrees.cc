// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/degrees.h"

#include <memory>
#include <utility>

namespace rudder::dataplane {

Result<AskedDegrees> ask_degrees(Plane& plane, std::span<const NodeId> nodes) {
  const auto memory = std::make_shared<std::vector<std::uint32_t>>(nodes.size());
  const auto ticket = plane.pull(kDegreeTable, nodes, sizeof(std::uint32_t),
                                 reinterpret_cast<std::byte*>(memory->data()), memory);
  const auto moved = plane.wait(ticket);
  if (!moved.ok()) {
    return moved.error().in("asking owners for degrees");
  }
  return AskedDegrees{std::move(*memory), {nodes.size(), moved->messages, moved->wire_bytes}};
}

}  // namespace rudder::dataplane

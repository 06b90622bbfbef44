// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"

namespace rudder::train {

/// The numeric address of this machine from which packets to `host` leave. Sends nothing.
[[nodiscard]] Result<std::string> local_address_towards(const std::string& host, std::uint16_t port);

/// Returns once something accepts TCP connections at host:port; the connection made to find out is closed.
/// Something that speaks first is no store: an error at once.
[[nodiscard]] Status wait_for_listener(const std::string& host, std::uint16_t port, Deadline deadline);

/// Lets receives on this process's connections to a remote `port` fail after `limit` without a byte. For
/// libraries that wait for ever and keep their sockets to themselves.
void bound_receives(std::uint16_t port, Duration limit);

}  // namespace rudder::train

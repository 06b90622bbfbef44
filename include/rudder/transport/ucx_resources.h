// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::transport {

/// What UCX would use here under its variables (UCX_TLS, UCX_NET_DEVICES): "tcp/eth0", "posix/memory", … each
/// once, in UCX's order.
[[nodiscard]] Result<std::vector<std::string>> ucx_resources();

/// The same from the text of ucp_context_print_info().
[[nodiscard]] std::vector<std::string> parse_ucx_resources(std::string_view text);

}  // namespace rudder::transport

// SPDX-License-Identifier: Apache-2.0
// One request to a server and its answer.
#pragma once

#include <string>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/llm/endpoint.h"

#include "llm/connect.h"

namespace rudder::llm {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

struct HttpCall {
  std::string path;     ///< behind the endpoint's
  std::string body;     ///< JSON
  std::string api_key;  ///< empty: none
  TimePoint deadline{};
  int stop = -1;  ///< ends the call when it becomes readable
};

/// Posts over a connection of its own. Redirections are not followed. Errors, which do not name the server:
/// kPeer (not reachable, broken off, not HTTP, above kMaxReplyBody), kTimeout, kCancelled.
[[nodiscard]] Result<HttpAnswer> post(Connector& connector, const Endpoint& endpoint, const HttpCall& call);

}  // namespace rudder::llm

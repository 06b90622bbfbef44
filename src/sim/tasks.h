// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "rudder/core/result.h"

namespace rudder::sim {

/// Calls task(0) to task(count - 1), each once, on `threads` threads of that name of which the caller is one.
/// After an error no further task begins. Returns the error of the lowest number; exceptions are kResource.
[[nodiscard]] Status run_tasks(std::size_t count, std::size_t threads, const std::string& name,
                               const std::function<Status(std::size_t)>& task);

}  // namespace rudder::sim

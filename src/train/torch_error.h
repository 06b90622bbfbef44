// SPDX-License-Identifier: Apache-2.0
// Exceptions of LibTorch and Gloo end here.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "rudder/core/result.h"

namespace rudder::train {

/// The current exception as an error: one line, without the library's back-trace. Call inside a catch block.
[[nodiscard]] Error current_torch_error(const std::string& context);

/// Keeps c10d from logging to stderr what its exceptions say too, unless GLOG_minloglevel is set.
/// Thread-safe.
void quiet_torch_logs();

/// Runs `call`; an exception becomes an error with `context()` in front.
template <class Context, class Call>
[[nodiscard]] Status catch_torch(Context&& context, Call&& call) {
  try {
    std::forward<Call>(call)();
    return {};
  } catch (...) {
    return current_torch_error(context());
  }
}

}  // namespace rudder::train

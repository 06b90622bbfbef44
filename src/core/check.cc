// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/check.h"

#include <cstdio>
#include <cstdlib>

namespace rudder {

void check_failed(const char* condition, const char* message, const char* file, int line) noexcept {
  std::fprintf(stderr, "rudder: internal error: %s (%s) at %s:%d\n", message, condition, file, line);
  std::abort();
}

}  // namespace rudder

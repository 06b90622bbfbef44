// SPDX-License-Identifier: Apache-2.0
// Checks for broken invariants (programmer errors). Errors of users, files and peers are `Result` values
// instead.
#pragma once

#ifndef RUDDER_CHECK_LEVEL
#define RUDDER_CHECK_LEVEL 1
#endif

namespace rudder {

/// Prints the failed condition with its place on stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* message, const char* file,
                               int line) noexcept;

}  // namespace rudder

/// Always on.
#define RUDDER_CHECK(condition, message)                               \
  do {                                                                 \
    if (!(condition)) [[unlikely]] {                                   \
      ::rudder::check_failed(#condition, message, __FILE__, __LINE__); \
    }                                                                  \
  } while (false)

/// On at check level normal and above: cheap checks on hot paths.
#if RUDDER_CHECK_LEVEL >= 1
#define RUDDER_DCHECK(condition, message) RUDDER_CHECK(condition, message)
#else
#define RUDDER_DCHECK(condition, message) static_cast<void>(0)
#endif

/// On at check level paranoid: validations that cost O(n).
#if RUDDER_CHECK_LEVEL >= 2
#define RUDDER_PARANOID(condition, message) RUDDER_CHECK(condition, message)
#else
#define RUDDER_PARANOID(condition, message) static_cast<void>(0)
#endif

// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace rudder::cli {
namespace {

// Signal handlers reach nothing but globals.
int stop_event = -1;

extern "C" void request_end(int) {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(stop_event, &one, sizeof(one)));
}

}  // namespace

Result<int> stop_on_signals() {
  stop_event = ::eventfd(0, EFD_CLOEXEC);
  if (stop_event < 0) {
    return Error{Errc::kResource, "no event descriptor: " + std::generic_category().message(errno)};
  }
  std::signal(SIGTERM, request_end);
  std::signal(SIGINT, request_end);
  return stop_event;
}

}  // namespace rudder::cli

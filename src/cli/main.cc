// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>

#include "rudder/core/interrupt.h"
#include "rudder/core/out_of_memory.h"

#include "cli/command.h"

int main(int argc, char** argv) {
  rudder::occupy_standard_descriptors();
  rudder::end_cleanly_without_memory();
  std::signal(SIGXFSZ, SIG_IGN);  // too large a file is then an error of who writes it
  const auto guard = rudder::InterruptGuard::install();
  if (!guard) {
    std::fprintf(stderr, "rudder: %s\n", guard.error().message.c_str());
    return 1;
  }
  return rudder::cli::run_program(argc, argv);
}

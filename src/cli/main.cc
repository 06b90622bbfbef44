// SPDX-License-Identifier: Apache-2.0
#include "rudder/train/blas.h"

#include "cli/command.h"

int main(int argc, char** argv) {
  rudder::train::select_blas_kernels(argv);
  return rudder::cli::run_program(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// In rudder-train.
#include "rudder/train/blas.h"

#include "cli/trainer.h"

namespace rudder::cli {

Result<const Trainer*> find_trainer(const Program& program) {
  train::select_blas_kernels(program.arguments);
  static constexpr Trainer kTrainer = {train::check_steering, train::train, train::serve_host};
  return &kTrainer;
}

}  // namespace rudder::cli

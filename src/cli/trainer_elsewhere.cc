// SPDX-License-Identifier: Apache-2.0
// In `rudder`.
#include "rudder/core/replace_program.h"
#include "rudder/train/blas.h"

#include "cli/trainer.h"

namespace rudder::cli {

Result<const Trainer*> find_trainer(const Program& program) {
  static_cast<void>(train::prefer_wide_kernels());  // here already: what it starts then need not start again
  const std::filesystem::path trainer = this_program().parent_path() / "rudder-train";
  return replace_program(trainer, program.arguments).in("this command's part with LibTorch");
}

}  // namespace rudder::cli

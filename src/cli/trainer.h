// SPDX-License-Identifier: Apache-2.0
// The part of the program that needs LibTorch. That takes half a second to load, so only rudder-train has it,
// which `rudder` becomes when a command asks for it; all else is the same in both.
#pragma once

#include <atomic>

#include "rudder/core/result.h"
#include "rudder/train/serve.h"
#include "rudder/train/trainer.h"

#include "cli/command.h"

namespace rudder::cli {

struct Trainer {
  decltype(&train::check_steering) check_steering;
  decltype(&train::train) train;
  decltype(&train::serve_host) serve_host;
};

/// The trainer, with the best BLAS kernels that there are. Called before anything is computed, printed or
/// started: `rudder` becomes rudder-train here, which runs the same command line from its beginning, or may
/// start itself again. An error when there is none.
[[nodiscard]] Result<const Trainer*> find_trainer(const Program& program);

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
// A training run's result as JSON: the printed object, and the fuller one of the run folder.
#pragma once

#include <filesystem>
#include <string>

#include "rudder/core/result.h"
#include "rudder/train/options.h"

#include "cli/command.h"

namespace rudder::cli {

/// The object that `train --json` prints.
[[nodiscard]] Json train_json(const train::TrainResult& result);
/// Writes RUN/result.json: everything in TrainResult.
[[nodiscard]] Status write_run_result(const std::filesystem::path& run, const train::TrainResult& result);
/// What steering did, in a sentence.
[[nodiscard]] std::string steering_text(const train::SteeringResult& steering);
/// Reads it back.
[[nodiscard]] Result<train::TrainResult> read_run_result(const std::filesystem::path& run);
/// RUN/run.json: the command line, the options with their origin, versions and machine.
[[nodiscard]] Status write_run_description(const std::filesystem::path& run, const Program& program,
                                           const OptionTable& options, const std::string& blas);

}  // namespace rudder::cli

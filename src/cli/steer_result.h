// SPDX-License-Identifier: Apache-2.0
// What `rudder steer eval` says: text for people, an object for scripts, a page.
#pragma once

#include <cstddef>
#include <string>

#include "rudder/report/steer_report.h"
#include "rudder/sim/steer_eval.h"

#include "cli/command.h"

namespace rudder::cli {

[[nodiscard]] std::string steer_text(const sim::Evaluation& result, std::size_t seeds);
[[nodiscard]] Json steer_json(const sim::Evaluation& result);
[[nodiscard]] report::SteerReport steer_report(const sim::Evaluation& result, std::string command,
                                               std::string version);

}  // namespace rudder::cli

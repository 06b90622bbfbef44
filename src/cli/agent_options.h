// SPDX-License-Identifier: Apache-2.0
// --agent-socket, --agent-url, --agent-model and --agent-timeout, for the commands that ask a language model.
#pragma once

#include <memory>
#include <string>

#include "rudder/core/result.h"
#include "rudder/llm/endpoint.h"
#include "rudder/llm/model.h"

#include "cli/option_table.h"

namespace rudder::cli {

/// `address` lives as long as the table. `who` stands in front of each option's help: "Decider llm: ", or
/// nothing.
void add_agent_options(OptionTable& table, llm::ModelAddress& address, const std::string& who = "");
/// As llm::open_model(), but the model is asked again within a call's time when its server fails.
[[nodiscard]] Result<std::unique_ptr<llm::Model>> open_patiently(const llm::ModelAddress& address);

/// One call for one token, so that a model that is not there is an error before the work and not within it,
/// and one that has to be loaded is. May take minutes.
[[nodiscard]] Status wake(llm::Model& model);

}  // namespace rudder::cli

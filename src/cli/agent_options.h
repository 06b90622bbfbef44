// SPDX-License-Identifier: Apache-2.0
// --agent-socket, --agent-url, --agent-model and --agent-timeout, for the commands that ask a language model.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/llm/model.h"

#include "cli/option_table.h"

namespace rudder::cli {

/// Lives as long as the table that it was added to.
class AgentOptions {
 public:
  void add_to(OptionTable& table);
  /// Whether a model was named.
  [[nodiscard]] bool given() const { return !socket_.empty() || !url_.empty(); }
  /// The model, asked again within a call's time when its server fails; null when none was named. Connects
  /// with each call only: see wake(). kInvalidArgument: two were named, a URL that is none, a model's name
  /// without a server.
  [[nodiscard]] Result<std::unique_ptr<llm::Model>> open() const;
  /// For one call.
  [[nodiscard]] Duration timeout() const { return from_seconds(timeout_); }

 private:
  std::filesystem::path socket_;
  std::string url_;
  std::string name_;
  double timeout_ = 10;
};

/// One call for one token, so that a model that is not there is an error before the work and not within it,
/// and one that has to be loaded is. May take minutes.
[[nodiscard]] Status wake(llm::Model& model);

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/restartable.h"

#include <memory>

#include <fmt/format.h>

#include "cli/command.h"

namespace rudder::cli {

Result<std::vector<std::string>> resumed_command(const std::vector<std::string>& command, Places places) {
  constexpr const char* kNeeds = "--on-failure shrink starts ranks again from a checkpoint";
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: {}", kNeeds, what)};
  };
  if (command.front() != "train") {
    return wrong(fmt::format("the command must be train --checkpoint DIR, not '{}'", command.front()));
  }
  RUDDER_ASSIGN(const std::unique_ptr<Command> train, read_command(command));
  const OptionTable& options = train->options();
  if (options.value("checkpoint").empty()) {
    return wrong("the command must be train --checkpoint DIR");
  }
  if (!options.value("trace").empty()) {
    return wrong("--trace holds whole runs");
  }
  if (places == Places::kMayMove && !options.value("attach").empty()) {
    return wrong("--attach does not go with --hosts, since a rank may come to another host's service");
  }
  std::vector<std::string> resumed = command;
  if (options.value("resume") != "true") {
    resumed.emplace_back("--resume");
  }
  return resumed;
}

}  // namespace rudder::cli

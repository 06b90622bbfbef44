// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/format.h>

#include "cli/command.h"

namespace rudder::cli {
namespace {

std::string escape_cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

/// Prints docs/options.md; a test compares the two.
class Options final : public Command {
 public:
  Result<int> run(const Program&) override {
    std::string page =
        "# Options\n\nMade by `rudder options`. Each option is a flag, a key of the `--config` file (a JSON "
        "object) and an\n"
        "environment variable `RUDDER_<NAME>` (upper case, `-` becomes `_`). Flags go before variables, "
        "variables before\n"
        "the file, the file before the defaults; `--print-config` shows what holds and where it came from.\n";
    for (const CommandInfo& info : command_table()) {
      const std::unique_ptr<Command> command = info.make();
      page += fmt::format("\n## rudder {}\n\n{}.\n", info.name, info.help);
      if (command->options().options().empty()) {
        continue;
      }
      page += "\n| option | default | allowed | meaning |\n|---|---|---|---|\n";
      for (const Option& option : command->options().options()) {
        page += fmt::format("| `--{}{}{}` | {} | {} | {} |\n", option.key, option.metavar.empty() ? "" : " ",
                            option.metavar, escape_cell(option.show()), escape_cell(option.bounds),
                            escape_cell(option.help));
      }
    }
    std::fputs(page.c_str(), stdout);
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_options() {
  return std::make_unique<Options>();
}

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
// What a subcommand takes besides its option table: values by position. Keeps the parser's headers, which
// take seconds to compile, out of the commands.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rudder::cli {

/// Targets must outlive the parse. What stands by position is required.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  void one(const std::string& name, std::filesystem::path& target, const std::string& help);
  void one(const std::string& name, std::string& target, const std::string& help);
  /// All words that are left.
  void rest(const std::string& name, std::vector<std::string>& target, const std::string& help);
  /// A flag with a short form, as in "-n,--ranks".
  void number(const std::string& flags, int& target, int low, int high, const std::string& help);
  /// Stands below the help.
  void footer(const std::string& text);

 private:
  CLI::App& app_;
};

}  // namespace rudder::cli

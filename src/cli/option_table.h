// SPDX-License-Identifier: Apache-2.0
// One table of options a command: it feeds the command line, the configuration file, the environment, the
// help and the documentation. Precedence: defaults < configuration file < environment < command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

namespace CLI {
class App;
}

namespace rudder::cli {

/// Parts of a comma-separated list, as written.
[[nodiscard]] std::vector<std::string> split_list(const std::string& text);

struct Option {
  std::string
      key;  ///< "link-rate": flag --link-rate, configuration key "link-rate", variable RUDDER_LINK_RATE
  std::string metavar;  ///< shown in the help; empty for switches
  std::string help;
  std::string bounds;                               ///< "1..1024", "sage, gcn, gat"; empty when anything goes
  std::function<Status(const std::string&)> parse;  ///< stores the value or says why not
  std::function<std::string()> show;                ///< the present value as text
  bool is_switch = false;
};

/// Targets must outlive the table. Defaults are the targets' values when the option is added.
class OptionTable {
 public:
  template <class Integer>
  void integer(std::string key, Integer& target, Integer low, Integer high, std::string help);
  void real(std::string key, double& target, double low, double high, std::string help);
  void text(std::string key, std::string metavar, std::string& target, std::string help);
  void path(std::string key, std::filesystem::path& target, std::string help);
  void choice(std::string key, std::string& target, std::vector<std::string> choices, std::string help);
  /// Comma-separated integers, for example fan-outs.
  void integers(std::string key, std::vector<int>& target, int low, int high, std::string help);
  void toggle(std::string key, bool& target, std::string help);
  /// Text checked and translated by `parse`.
  void custom(Option option);

  [[nodiscard]] const std::vector<Option>& options() const noexcept { return options_; }

  /// Adds all options, --config and --print-config to a command.
  void bind(CLI::App& command);
  /// After parsing: fills the targets; every problem in one error. `environment` reads a variable (getenv).
  [[nodiscard]] Status resolve(const std::function<const char*(const char*)>& environment);
  [[nodiscard]] bool print_config_requested() const noexcept { return print_config_; }
  /// "default", a file, a variable or "the command line".
  [[nodiscard]] const std::string& origin(const std::string& key) const { return origins_.at(key); }
  /// The present value as text, of an option that is there.
  [[nodiscard]] std::string value(std::string_view key) const;
  /// A line an option: key, value, where the value came from.
  [[nodiscard]] std::string config_text() const;

 private:
  [[nodiscard]] Result<std::map<std::string, std::string>> read_config() const;

  std::vector<Option> options_;
  std::map<std::string, std::string> given_;    ///< from the command line
  std::map<std::string, std::string> origins_;  ///< key → default, file, environment, command line
  std::string config_path_;
  bool print_config_ = false;
};

extern template void OptionTable::integer<int>(std::string, int&, int, int, std::string);
extern template void OptionTable::integer<std::uint16_t>(std::string, std::uint16_t&, std::uint16_t,
                                                         std::uint16_t, std::string);
extern template void OptionTable::integer<std::uint32_t>(std::string, std::uint32_t&, std::uint32_t,
                                                         std::uint32_t, std::string);
extern template void OptionTable::integer<std::uint64_t>(std::string, std::uint64_t&, std::uint64_t,
                                                         std::uint64_t, std::string);
extern template void OptionTable::integer<std::int64_t>(std::string, std::int64_t&, std::int64_t,
                                                        std::int64_t, std::string);

}  // namespace rudder::cli

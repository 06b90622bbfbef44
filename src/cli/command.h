// SPDX-License-Identifier: Apache-2.0
// A subcommand: options, positional arguments, and what it does. One subcommand (or one family) a file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "rudder/core/result.h"

#include "cli/arguments.h"
#include "cli/option_table.h"

namespace rudder::cli {

using Json = nlohmann::ordered_json;

[[nodiscard]] inline Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// How this program was started.
struct Program {
  std::string executable;              ///< to start it again
  std::vector<std::string> arguments;  ///< after the program's name
};

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// Positional arguments; called once, before parsing. Options come from `options()`.
  virtual void add_arguments(Arguments& arguments) { static_cast<void>(arguments); }
  /// Runs after options were resolved. The value is the exit code.
  [[nodiscard]] virtual Result<int> run(const Program& program) = 0;

  [[nodiscard]] OptionTable& options() noexcept { return options_; }
  [[nodiscard]] const OptionTable& options() const noexcept { return options_; }
  [[nodiscard]] bool json() const noexcept { return json_; }

 protected:
  /// Adds --json to the table of a command that has a result object.
  void add_json_option() {
    options_.toggle("json", json_, "Print the result as one JSON object on standard output");
  }
  /// Writes the object as one line on standard output.
  static void print_json(const Json& object);
  /// Writes a line for people on standard error.
  static void say(std::string_view line);

 private:
  OptionTable options_;
  bool json_ = false;
};

/// One line of the command table.
struct CommandInfo {
  /// "graph import": a family and its member, or one word. A word may be a command and a family ("place"); it
  /// then stands before its members.
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Command> (*make)();
};

[[nodiscard]] std::span<const CommandInfo> command_table();

/// Parses and runs; returns the process's exit code: 0 done, 1 the run failed, 2 wrong usage.
[[nodiscard]] int run_program(int argc, const char* const* argv);

/// The command that these words stand for (a program's arguments), its options resolved, without running it.
/// kInvalidArgument for what run_program() would refuse, and for words that only ask for help.
[[nodiscard]] Result<std::unique_ptr<Command>> read_command(const std::vector<std::string>& words);

std::unique_ptr<Command> make_graph_import();
std::unique_ptr<Command> make_graph_generate();
std::unique_ptr<Command> make_graph_info();
std::unique_ptr<Command> make_graph_export();
std::unique_ptr<Command> make_partition();
std::unique_ptr<Command> make_train();
std::unique_ptr<Command> make_serve();
std::unique_ptr<Command> make_top();
std::unique_ptr<Command> make_agent();
std::unique_ptr<Command> make_launch();
std::unique_ptr<Command> make_warden();
std::unique_ptr<Command> make_trace_record();
std::unique_ptr<Command> make_trace_replay();
std::unique_ptr<Command> make_trace_export();
std::unique_ptr<Command> make_demo();
std::unique_ptr<Command> make_place();
std::unique_ptr<Command> make_place_topology();
std::unique_ptr<Command> make_place_check();
std::unique_ptr<Command> make_place_advise();
std::unique_ptr<Command> make_place_replace();
std::unique_ptr<Command> make_sched_sim();
std::unique_ptr<Command> make_sched_compare();
std::unique_ptr<Command> make_sched_train();
std::unique_ptr<Command> make_sched_predict();
std::unique_ptr<Command> make_sched_run();
std::unique_ptr<Command> make_sched_status();
std::unique_ptr<Command> make_steer_eval();
std::unique_ptr<Command> make_steer_compare();
std::unique_ptr<Command> make_steer_train();
std::unique_ptr<Command> make_steer_ablation();
std::unique_ptr<Command> make_steer_export();
std::unique_ptr<Command> make_steer_replay();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_options();

}  // namespace rudder::cli

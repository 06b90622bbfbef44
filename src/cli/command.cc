// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rudder/core/replace_program.h"
#include "rudder/core/text.h"

#ifndef RUDDER_VERSION
#define RUDDER_VERSION "unknown"
#endif

namespace rudder::cli {
namespace {

constexpr auto kCommands = std::to_array<CommandInfo>({
    {"demo", "Train a real graph on this machine with every cache policy side by side", make_demo},
    {"graph import", "Read a graph that another tool wrote", make_graph_import},
    {"graph generate", "Make a graph: debian, wordnet, rmat, chung-lu, planted", make_graph_generate},
    {"graph info", "Check a graph folder and say what it holds", make_graph_info},
    {"graph export", "Write a partitioned graph back in its original ids", make_graph_export},
    {"partition", "Cut a graph into parts, one a rank", make_partition},
    {"train", "Train a graph neural network on a partitioned graph (one rank)", make_train},
    {"serve", "Serve one host: its rows to other hosts, one shared buffer to its trainers", make_serve},
    {"top", "Watch a running service: rates, waits, buffer, peers", make_top},
    {"agent", "Serve a language model to this host's jobs: its own, or another server's", make_agent},
    {"launch", "Start all ranks of a run, on this machine or over several hosts", make_launch},
    {"warden", "Start and watch the ranks of one host; rudder launch --hosts runs it there", make_warden},
    {"trace record", "Record which remote rows each batch asks for", make_trace_record},
    {"trace replay", "Run cache policies over a recorded trace, beside the minimum", make_trace_replay},
    {"trace export", "Write a trace for other simulators", make_trace_export},
    {"place", "Place a job's ranks on the cluster's network, with a certified gap", make_place},
    {"place topology", "Read a cluster's topology and draw it", make_place_topology},
    {"place check", "Say what an existing placement costs, and why", make_place_check},
    {"place advise", "Try the ways to split a number of GPUs into TP, PP and DP", make_place_advise},
    {"place replace", "Replace failed hosts of a placement at the least cost", make_place_replace},
    {"sched sim", "Simulate a cluster's scheduler on a trace of jobs", make_sched_sim},
    {"sched compare", "Run policies and predictors on one trace side by side", make_sched_compare},
    {"sched train", "Learn to predict how long jobs run", make_sched_train},
    {"sched predict", "Predict how long the later jobs of a trace run", make_sched_predict},
    {"sched run", "Place and schedule the marked jobs of a real Slurm cluster", make_sched_run},
    {"sched status", "Say why each marked job of a Slurm cluster waits, minipod by minipod",
     make_sched_status},
    {"steer eval", "Score deciders on scenarios beside the best fixed setting and the oracle",
     make_steer_eval},
    {"steer compare", "Put fixed periods, deciders and bounds side by side on accesses of real graphs",
     make_steer_compare},
    {"steer train", "Train classifiers on labelled windows, scored on runs and graphs not seen",
     make_steer_train},
    {"steer ablation", "Score a language model by how many labelled windows it is shown",
     make_steer_ablation},
    {"steer export", "Write labelled windows as chats, to fine-tune a model elsewhere", make_steer_export},
    {"steer replay", "Show a run's decisions again, with what they cost", make_steer_replay},
    {"doctor", "Say what this machine has for training, what is missing, and how to get it", make_doctor},
    {"options", "Print the options of all commands as a Markdown page", make_options},
});

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFamilies = {{
    {"graph", "Import, generate, check and export graph folders"},
    {"sched", "Schedule gangs of jobs: simulate, predict, and drive a Slurm cluster"},
    {"steer", "Weigh what an agent and its rivals would decide"},
    {"trace", "Record, replay and export access traces"},
}};

std::string_view family_help(std::string_view family) {
  for (const auto& [name, help] : kFamilies) {
    if (name == family) {
      return help;
    }
  }
  return {};
}

struct Registered {
  std::unique_ptr<Command> command;
  CLI::App* app = nullptr;
};

std::vector<Registered> register_all(CLI::App& root) {
  std::map<std::string, CLI::App*> families;
  std::vector<Registered> registered;
  for (const CommandInfo& info : kCommands) {
    std::string name(info.name);
    CLI::App* parent = &root;
    if (const std::size_t blank = name.find(' '); blank != std::string::npos) {
      const std::string family = name.substr(0, blank);
      name = name.substr(blank + 1);
      CLI::App*& entry = families[family];
      if (entry == nullptr) {
        entry = root.add_subcommand(family, std::string(family_help(family)));
        entry->require_subcommand(1);
      }
      parent = entry;
    }
    CLI::App* app = parent->add_subcommand(name, std::string(info.help));
    if (parent == &root) {  // members of a family that is a command itself follow it in the table
      families[name] = app;
    }
    Registered entry;
    entry.command = info.make();
    entry.app = app;
    Arguments arguments(*app);
    entry.command->add_arguments(arguments);
    entry.command->options().bind(*app);
    registered.push_back(std::move(entry));
  }
  return registered;
}

int report(const Error& error) {
  std::fprintf(stderr, "rudder: %s\n", printable(error.message).c_str());
  return error.code == Errc::kInvalidArgument ? 2 : 1;
}

/// "lanuch" → a hint at "launch"; the words are those that CLI11 did not know.
std::string near_miss(const CLI::App& app, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    std::vector<std::string> names;
    if (word.starts_with("--")) {
      for (const CLI::Option* option : app.get_options()) {
        names.push_back(option->get_name());
      }
    } else {
      for (const CLI::App* sub : app.get_subcommands(nullptr)) {
        names.push_back(sub->get_name());
      }
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string near = nearest_name(word.substr(0, word.find('=')), views);
    if (!near.empty()) {
      return fmt::format("; did you mean '{}'?", near);
    }
  }
  return {};
}

/// The innermost subcommand that was parsed.
const CLI::App& innermost(const CLI::App& root) {
  const CLI::App* app = &root;
  for (auto subs = app->get_subcommands(); !subs.empty(); subs = app->get_subcommands()) {
    app = subs.front();
  }
  return *app;
}

/// A result that could not be written is a failure.
int flush_output(int code) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return report({Errc::kIo, "standard output: cannot write the result"});
  }
  return code;
}

/// The commands above a parsed one do not run, so options given to them would be lost in silence.
Status check_outer_options(const CLI::App& app) {
  for (const CLI::App* outer = app.get_parent(); outer != nullptr; outer = outer->get_parent()) {
    for (const CLI::Option* option : outer->get_options()) {
      if (option->count() > 0) {
        return Error{Errc::kInvalidArgument,
                     fmt::format("{} goes behind '{}', not before it", option->get_name(), app.get_name())};
      }
    }
  }
  return {};
}

/// What is left to do before a parsed command can run.
Status resolve(const Registered& entry) {
  RUDDER_TRY(check_outer_options(*entry.app));
  return entry.command->options().resolve([](const char* name) { return std::getenv(name); });
}

int run_parsed(Registered& entry, const Program& program) {
  Command& command = *entry.command;
  if (const Status resolved = resolve(entry); !resolved) {
    return report(resolved.error());
  }
  if (command.options().print_config_requested()) {
    std::fputs(command.options().config_text().c_str(), stdout);
    return flush_output(0);
  }
  const Result<int> code = command.run(program);
  return code ? flush_output(*code) : report(code.error());
}

}  // namespace

std::span<const CommandInfo> command_table() {
  return kCommands;
}

void Command::print_json(const Json& object) {
  std::fputs((object.dump() + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void Command::say(std::string_view line) {
  std::fprintf(stderr, "%s\n", printable(line).c_str());
}

Result<std::unique_ptr<Command>> read_command(const std::vector<std::string>& words) {
  CLI::App root("", "rudder");
  root.require_subcommand(1);
  std::vector<Registered> registered = register_all(root);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // as the library takes them
    root.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return Error{Errc::kInvalidArgument, error.get_exit_code() == 0
                                             ? "the command asks for help and does nothing else"
                                             : error.what()};
  }
  for (Registered& entry : registered) {
    if (entry.app == &innermost(root)) {
      RUDDER_TRY(resolve(entry));
      return std::move(entry.command);
    }
  }
  return Error{Errc::kInvalidArgument, "no command"};
}

int run_program(int argc, const char* const* argv) {
  CLI::App root("Rudder keeps distributed training fed.", "rudder");
  root.set_version_flag("--version", "rudder " RUDDER_VERSION);
  root.require_subcommand(1);
  root.set_help_all_flag("--help-all", "Print the help of all commands");
  std::vector<Registered> registered = register_all(root);
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp& request) {
    return root.exit(request);
  } catch (const CLI::CallForAllHelp& request) {
    return root.exit(request);
  } catch (const CLI::CallForVersion& request) {
    return root.exit(request);
  } catch (const CLI::ExtrasError& error) {
    const CLI::App& app = innermost(root);
    std::fprintf(
        stderr, "rudder: %s%s\nrudder: see rudder --help\n", error.what(),
        near_miss(app, app.remaining(true).empty() ? root.remaining(true) : app.remaining(true)).c_str());
    return 2;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "rudder: %s%s\nrudder: see rudder --help\n", error.what(),
                 near_miss(innermost(root), root.remaining(true)).c_str());
    return 2;
  }
  Program program;
  program.executable = this_program().string();
  program.arguments.assign(argv + 1, argv + argc);
  for (Registered& entry : registered) {
    if (entry.app == &innermost(root)) {
      return run_parsed(entry, program);
    }
  }
  return 2;
}

}  // namespace rudder::cli

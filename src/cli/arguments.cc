// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <CLI/CLI.hpp>

namespace rudder::cli {

void Arguments::one(const std::string& name, std::filesystem::path& target, const std::string& help) {
  app_.add_option(name, target, help)->required();
}

void Arguments::one(const std::string& name, std::string& target, const std::string& help) {
  app_.add_option(name, target, help)->required();
}

void Arguments::rest(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  app_.add_option(name, target, help)->required();
}

void Arguments::number(const std::string& flags, int& target, int low, int high, const std::string& help) {
  app_.add_option(flags, target, help)->check(CLI::Range(low, high))->type_name("N");
}

void Arguments::footer(const std::string& text) {
  app_.footer(text);
}

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/replace_program.h"

#include <cerrno>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace rudder {

Error replace_program(const std::filesystem::path& program, std::span<const std::string> arguments) {
  std::vector<const char*> words = {program.c_str()};
  for (const std::string& argument : arguments) {
    words.push_back(argument.c_str());
  }
  words.push_back(nullptr);
  ::execv(program.c_str(), const_cast<char* const*>(words.data()));
  return {Errc::kIo, "cannot run " + program.string() + ": " + std::generic_category().message(errno)};
}

std::filesystem::path this_program() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown);
}

}  // namespace rudder

// SPDX-License-Identifier: Apache-2.0
#include "cli/own_folder.h"

#include <system_error>

#include <fmt/format.h>

#include "rudder/core/files.h"

namespace rudder::cli {

Status renew_own_folder(const std::filesystem::path& folder, std::string_view command) {
  const std::filesystem::path marker = folder / fmt::format(".rudder-{}", command);  // what may be deleted
  std::error_code ignored;
  if (std::filesystem::exists(folder, ignored) && !std::filesystem::is_empty(folder, ignored)) {
    if (!std::filesystem::exists(marker, ignored)) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: not empty and not made by an earlier {}; choose another --out",
                               folder.string(), command)};
    }
    std::filesystem::remove_all(folder, ignored);
  }
  RUDDER_TRY(make_directories(folder));
  return write_text(marker, "");
}

}  // namespace rudder::cli

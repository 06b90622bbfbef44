// SPDX-License-Identifier: Apache-2.0
// The folder of hand-over files that `rudder place` and `rudder place replace` write.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/hand_over.h"

#include "cli/option_table.h"

namespace rudder::cli {

class HandOverInput {
 public:
  /// --out and what the files say beside the plan.
  void add_options(OptionTable& options);
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return out_; }
  /// All forms of the plan and its heat map into --out, which is made when it is missing. Returns lines for
  /// people; without --out it writes nothing and returns none. Errors: those of place::hand_over(); kIo,
  /// kResource.
  [[nodiscard]] Result<std::vector<std::string>> write(const place::Plan& plan) const;

 private:
  std::filesystem::path out_;
  place::HandOverOptions options_;
};

}  // namespace rudder::cli

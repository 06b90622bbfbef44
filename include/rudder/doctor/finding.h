// SPDX-License-Identifier: Apache-2.0
// What one check of the machine found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rudder::doctor {

enum class Verdict : std::uint8_t {
  kOk,       ///< nothing to do
  kWarning,  ///< training works, slower or with less than it could have
  kFailure,  ///< training does not work
};

/// "ok", "warning", "failure".
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct Finding {
  std::string name = {};  ///< of the check: "cores"
  Verdict verdict = Verdict::kOk;
  std::string value = {};   ///< as measured, for people: "2 of 4 hardware threads"
  std::string why = {};     ///< why it matters for training
  std::string remedy = {};  ///< what mends it, or gets what is optional; empty: nothing to mend
};

using Findings = std::vector<Finding>;

}  // namespace rudder::doctor

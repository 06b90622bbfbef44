// SPDX-License-Identifier: Apache-2.0
#include "rudder/doctor/finding.h"

namespace rudder::doctor {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kFailure:
      return "failure";
  }
  return "";
}

}  // namespace rudder::doctor

// SPDX-License-Identifier: Apache-2.0
// Human text on stderr. Libraries report through Result; they log only what nobody waits for.
#pragma once

#include <string_view>

namespace rudder {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarning, kError, kOff };

void set_log_level(LogLevel level);
void log(LogLevel level, std::string_view message);
inline void log_info(std::string_view message) {
  log(LogLevel::kInfo, message);
}
inline void log_warning(std::string_view message) {
  log(LogLevel::kWarning, message);
}

}  // namespace rudder

// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/log.h"

#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace rudder {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made =
        std::make_shared<spdlog::logger>("rudder", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("rudder: %^%l%$: %v");
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum translate(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) {
  logger().set_level(translate(level));
}

void log(LogLevel level, std::string_view message) {
  logger().log(translate(level), "{}", message);
}

}  // namespace rudder

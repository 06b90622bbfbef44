// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/trace.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"

#include "sched/raw_jobs.h"

namespace rudder::sched {
namespace {

constexpr std::array<std::pair<std::string_view, TraceFormat>, 6> kFormats = {{
    {"philly", TraceFormat::kPhilly},
    {"philly-json", TraceFormat::kPhillyJson},
    {"sacct", TraceFormat::kSacct},
    {"helios", TraceFormat::kHelios},
    {"acme", TraceFormat::kAcme},
    {"csv", TraceFormat::kCsv},
}};

}  // namespace

std::vector<std::string_view> trace_format_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, format] : kFormats) {
    names.push_back(name);
  }
  return names;
}

Result<TraceFormat> parse_trace_format(std::string_view name) {
  for (const auto& [text, format] : kFormats) {
    if (text == name) {
      return format;
    }
  }
  const std::vector<std::string_view> names = trace_format_names();
  const std::string near = nearest_name(name, names);
  return Error{Errc::kInvalidArgument,
               fmt::format("trace format '{}' is not one of {}{}", name, fmt::join(names, ", "),
                           near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
}

Result<Trace> read_trace(const std::filesystem::path& path, TraceFormat format, const TraceOptions& options) {
  switch (format) {
    case TraceFormat::kPhilly:
      return read_philly(path, options);
    case TraceFormat::kPhillyJson:
      return read_philly_json(path, options);
    case TraceFormat::kSacct:
      return read_sacct(path, options);
    case TraceFormat::kHelios:
      return read_helios(path, options);
    case TraceFormat::kAcme:
      return read_acme(path, options);
    case TraceFormat::kCsv:
      return read_own_csv(path, options);
  }
  return Error{Errc::kInvalidArgument, "unknown trace format"};
}

}  // namespace rudder::sched

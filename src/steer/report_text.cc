// SPDX-License-Identifier: Apache-2.0
// The text is made for models and people, and is exact:
//
//   window 12, action skip
//   changed: hit_rate low, stall_share high          (or "changed: nothing")
//   owners: owner 2 serves 71 % of the rows          (only when one stands out)
//   event: another job starts on this rack at noon   (one line each)
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/steer/window.h"

#include "steer/report_form.h"

namespace rudder::steer {
namespace {

constexpr std::string_view kWindow = "window ";
constexpr std::string_view kAction = ", action ";
constexpr std::string_view kChanged = "changed: ";
constexpr std::string_view kNothing = "nothing";
constexpr std::string_view kOwners = "owners: ";
constexpr std::string_view kEvent = "event: ";

Error broken(std::size_t line, std::string_view problem, std::string_view text) {
  return {Errc::kInvalidData, fmt::format("report, line {}: {} in '{}'", line, problem, one_line(text, 80))};
}

/// Cuts what stands before `separator` off `text`; all of it when there is none.
std::string_view cut(std::string_view& text, std::string_view separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + separator.size()));
  return front;
}

/// "window 12, action skip"
Status read_first(std::string_view line, Report& report) {
  std::string_view rest = line;
  if (!rest.starts_with(kWindow) || rest.find(kAction) == std::string_view::npos) {
    return broken(1, "no 'window NUMBER, action NAME'", line);
  }
  rest.remove_prefix(kWindow.size());
  const std::string_view number = cut(rest, kAction);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), report.sequence);
  if (error != std::errc() || end != number.data() + number.size()) {
    return broken(1, fmt::format("window '{}' is not a number", one_line(number, 40)), line);
  }
  if (!is_report_line(rest)) {
    return broken(1, "an action's name that is not one short line", line);
  }
  report.action = rest;
  return {};
}

/// "hit_rate low, stall_share high", in the table's order.
Status read_changes(std::string_view list, Report& report) {
  if (list == kNothing) {
    return {};
  }
  std::string_view rest = list;
  std::size_t next = 0;  // metrics come in order, so none comes twice
  while (!rest.empty()) {
    const std::string_view item = cut(rest, ", ");
    const std::size_t blank = std::min(item.find(' '), item.size());
    const std::size_t metric = find_metric(item.substr(0, blank));
    const std::optional<Level> level = level_named(item.substr(std::min(item.size(), blank + 1)));
    if (metric == kMetrics || !level) {
      return broken(2, fmt::format("no metric with its level: '{}'", one_line(item, 60)), list);
    }
    if (metric < next) {
      return broken(2, fmt::format("{} comes twice or out of order", metric_table()[metric].name), list);
    }
    report.levels[metric] = *level;
    report.changed[metric] = true;
    next = metric + 1;
  }
  return next == 0 ? Status(broken(2, "nothing is said", list)) : Status();
}

}  // namespace

std::string text_of(const Report& report) {
  std::string changes;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    if (report.changed[i]) {
      changes += fmt::format("{}{} {}", changes.empty() ? "" : ", ", metric_table()[i].name,
                             name_of(report.levels[i]));
    }
  }
  std::string text = fmt::format("{}{}{}{}\n{}{}", kWindow, report.sequence, kAction,
                                 one_line(report.action, kMaxReportLine), kChanged,
                                 changes.empty() ? std::string(kNothing) : changes);
  if (const std::string owner = one_line(report.busiest_owner, kMaxReportLine); !owner.empty()) {
    text += fmt::format("\n{}{}", kOwners, owner);
  }
  for (const std::string& event : newest_events(report)) {
    text += fmt::format("\n{}{}", kEvent, event);
  }
  return text;
}

Result<Report> report_of_text(std::string_view whole, const Report& before) {
  std::string_view text = whole;
  if (text.size() > kMaxReportBytes) {
    return Error{Errc::kInvalidData,
                 fmt::format("report: {} bytes, more than {}", text.size(), kMaxReportBytes)};
  }
  Report report;
  report.levels = before.levels;
  RUDDER_TRY(read_first(cut(text, "\n"), report));
  const std::string_view changes = cut(text, "\n");
  if (!changes.starts_with(kChanged)) {
    return broken(2, "no 'changed: ...'", changes);
  }
  RUDDER_TRY(read_changes(changes.substr(kChanged.size()), report));
  for (std::size_t number = 3; !text.empty(); ++number) {
    const std::string_view line = cut(text, "\n");
    const bool owners = number == 3 && line.starts_with(kOwners) && line.size() > kOwners.size();
    if (!owners && !line.starts_with(kEvent)) {
      return broken(number, "neither owners nor event", line);
    }
    const std::string_view words = line.substr(owners ? kOwners.size() : kEvent.size());
    if (!is_report_line(words)) {
      return broken(number, "no short line of UTF-8 without control characters", line);
    }
    if (owners) {
      report.busiest_owner = words;
    } else {
      report.events.emplace_back(words);
    }
    if (report.events.size() > kMaxEvents) {
      return broken(number, fmt::format("more than {} events", kMaxEvents), line);
    }
  }
  if (text_of(report) != whole) {  // trailing separators and the like
    return Error{Errc::kInvalidData, "report: not written as reports are"};
  }
  return report;
}

}  // namespace rudder::steer

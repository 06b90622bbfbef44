// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/text.h"
#include "rudder/steer/window.h"

#include "steer/report_form.h"

namespace rudder::steer {
namespace {

using OrderedJson = nlohmann::ordered_json;

Error broken(std::string_view problem) {
  return {Errc::kInvalidData, fmt::format("report: {}", problem)};
}

/// The parser keeps the last of two equal keys in silence; here they are an error. Nesting is bounded by the
/// text's length and costs no stack.
Result<OrderedJson> parse(std::string_view text) {
  if (text.size() > kMaxReportBytes) {
    return broken(fmt::format("{} bytes, more than {}", text.size(), kMaxReportBytes));
  }
  std::vector<std::vector<std::string>> open;
  std::string twice;
  const auto watch = [&](int /*depth*/, OrderedJson::parse_event_t event, OrderedJson& value) {
    if (event == OrderedJson::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == OrderedJson::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == OrderedJson::parse_event_t::key) {
      auto& keys = open.back();
      const auto& key = value.get_ref<const std::string&>();
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
        twice = key;
      }
      keys.push_back(key);
    }
    return true;
  };
  const OrderedJson json = OrderedJson::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return broken(fmt::format("no JSON object: '{}'", one_line(text, 60)));
  }
  if (!twice.empty()) {
    return broken(fmt::format("key '{}' comes twice", one_line(twice, 60)));
  }
  return json;
}

Result<std::string> read_line(const OrderedJson& value, std::string_view key) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || !is_report_line(*text)) {
    return broken(fmt::format("{} is not one line of text of at most {} bytes", key, kMaxReportLine));
  }
  return *text;
}

Status read_levels(const OrderedJson& levels, Report& report) {
  if (!levels.is_object() || levels.size() != kMetrics) {
    return broken(fmt::format("levels is not an object with all {} metrics", kMetrics));
  }
  for (const auto& [name, value] : levels.items()) {
    const std::size_t metric = find_metric(name);
    const auto* word = value.get_ptr<const std::string*>();
    const std::optional<Level> level = word == nullptr ? std::nullopt : level_named(*word);
    if (metric == kMetrics || !level) {
      return broken(fmt::format("levels.{} is not a metric with its level", one_line(name, 60)));
    }
    report.levels[metric] = *level;
  }
  return {};
}

Status read_changed(const OrderedJson& changed, Report& report) {
  if (!changed.is_array()) {
    return broken("changed is not a list");
  }
  for (const OrderedJson& each : changed) {
    const auto* name = each.get_ptr<const std::string*>();
    const std::size_t metric = name == nullptr ? kMetrics : find_metric(*name);
    if (metric == kMetrics || report.changed[metric]) {
      return broken("changed holds what is no metric, or one twice");
    }
    report.changed[metric] = true;
  }
  return {};
}

Status read_events(const OrderedJson& events, Report& report) {
  if (!events.is_array() || events.size() > kMaxEvents) {
    return broken(fmt::format("events is not a list of at most {}", kMaxEvents));
  }
  for (const OrderedJson& each : events) {
    RUDDER_ASSIGN(report.events.emplace_back(), read_line(each, "an event"));
  }
  return {};
}

Status read_member(std::string_view key, const OrderedJson& value, Report& report) {
  if (key == "sequence") {
    if (!value.is_number_unsigned()) {
      return broken("sequence is not a whole number");
    }
    report.sequence = value.get<std::uint64_t>();
    return {};
  }
  if (key == "action" || key == "busiest_owner") {
    RUDDER_ASSIGN((key == "action" ? report.action : report.busiest_owner), read_line(value, key));
    return {};
  }
  if (key == "levels") {
    return read_levels(value, report);
  }
  if (key == "changed") {
    return read_changed(value, report);
  }
  return read_events(value, report);
}

constexpr std::array<std::string_view, 6> kReportKeys = {"sequence", "action",        "levels",
                                                         "changed",  "busiest_owner", "events"};

}  // namespace

std::string json_of(const Report& report) {
  OrderedJson levels = OrderedJson::object();
  OrderedJson changed = OrderedJson::array();
  for (std::size_t i = 0; i < kMetrics; ++i) {
    levels[std::string(metric_table()[i].name)] = name_of(report.levels[i]);
    if (report.changed[i]) {
      changed.push_back(metric_table()[i].name);
    }
  }
  const OrderedJson json = {{"sequence", report.sequence},
                            {"action", one_line(report.action, kMaxReportLine)},
                            {"levels", levels},
                            {"changed", changed},
                            {"busiest_owner", one_line(report.busiest_owner, kMaxReportLine)},
                            {"events", newest_events(report)}};
  return json.dump();
}

Result<Report> report_of_json(std::string_view json) {
  RUDDER_ASSIGN(const OrderedJson object, parse(json));
  for (const auto& [key, value] : object.items()) {
    if (std::find(kReportKeys.begin(), kReportKeys.end(), key) == kReportKeys.end()) {
      return broken(fmt::format("unknown key '{}'", one_line(key, 60)));
    }
  }
  Report report;
  for (const std::string_view key : kReportKeys) {
    const auto found = object.find(key);
    if (found == object.end()) {
      return broken(fmt::format("{} is missing", key));
    }
    RUDDER_TRY(read_member(key, *found, report));
  }
  return report;
}

}  // namespace rudder::steer

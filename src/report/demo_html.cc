// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/core/text.h"
#include "rudder/report/demo_report.h"

#include "report/demo_page.h"

namespace rudder::report {
namespace {

using Json = nlohmann::ordered_json;

Json row_json(const DemoRow& row) {
  return {{"policy", row.policy},
          {"epoch_seconds", row.epoch_seconds},
          {"compute_seconds", row.compute_seconds},
          {"all_reduce_seconds", row.all_reduce_seconds},
          {"stall_seconds", row.stall_seconds},
          {"requests", row.requests},
          {"hits", row.hits},
          {"fetched", row.fetched},
          {"payload_bytes", row.payload_bytes},
          {"wire_bytes", row.wire_bytes},
          {"link_bytes", row.link_bytes},
          {"ratio_to_min", row.ratio_to_min},
          {"val_accuracy", row.val_accuracy},
          {"test_accuracy", row.test_accuracy},
          {"loss_digest", row.loss_digest},
          {"speedup_vs_none", row.speedup_vs_none},
          {"step_losses", row.step_losses},
          {"step_hit_rates", row.step_hit_rates}};
}

/// JSON that may stand inside a script element: no "<" can end it or open a comment.
std::string script_json(const DemoReport& report) {
  Json rows = Json::array();
  for (const DemoRow& row : report.rows) {
    rows.push_back(row_json(row));
  }
  const Json object = {{"title", report.title},
                       {"machine", report.machine},
                       {"link", report.link},
                       {"graph", report.graph},
                       {"command", report.command},
                       {"version", report.version},
                       {"parts", report.parts},
                       {"epochs", report.epochs},
                       {"steps_per_epoch", report.steps_per_epoch},
                       {"buffer", report.buffer},
                       {"min_fetched", report.min_fetched},
                       {"rows", std::move(rows)}};
  std::string text = object.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

void fill(std::string& page, std::string_view place, const std::string& text) {
  const std::size_t at = page.find(place);
  RUDDER_CHECK(at != std::string::npos, "the page template lacks a place");
  page.replace(at, place.size(), text);
}

}  // namespace

Status write_demo_html(const std::filesystem::path& path, const DemoReport& report,
                       const std::filesystem::path& chart_js) {
  auto script = read_text(chart_js);
  if (!script) {
    return script.error().in("charts need Chart.js (apt-get install libjs-chart.js)");
  }
  std::string page(kDemoPage);
  fill(page, "{{title}}", html_escaped(report.title));
  fill(page, "{{data}}", script_json(report));
  fill(page, "{{chart_js}}", *script);
  return write_text(path, page);
}

}  // namespace rudder::report

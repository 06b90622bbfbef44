// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <map>
#include <string>

#include "rudder/core/check.h"
#include "rudder/core/files.h"
#include "rudder/core/text.h"

namespace rudder::report {
namespace {

/// JSON that may stand inside a script element: no "<" can end it or open a comment.
std::string script_json(const nlohmann::ordered_json& data) {
  std::string text = data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

using Places = std::map<std::string_view, std::string_view>;

/// The template with its places filled. What fills them is not looked through again.
std::string filled(std::string_view page, const Places& places) {
  std::string text;
  for (std::size_t open = page.find("{{"); open != std::string_view::npos; open = page.find("{{")) {
    const std::size_t close = page.find("}}", open);
    RUDDER_CHECK(close != std::string_view::npos, "the page template has a place without an end");
    text += page.substr(0, open);
    text += places.at(page.substr(open + 2, close - open - 2));
    page.remove_prefix(close + 2);
  }
  return text.append(page);
}

}  // namespace

Status write_page(const std::filesystem::path& path, std::string_view page, std::string_view title,
                  const nlohmann::ordered_json& data, const std::filesystem::path& chart_js) {
  auto script = read_text(chart_js);
  if (!script) {
    return script.error().in("charts need Chart.js (apt-get install libjs-chart.js)");
  }
  const std::string safe_title = html_escaped(title);
  const std::string safe_data = script_json(data);
  return write_text(
      path,
      filled(page,
             {{"style", kPageStyle}, {"title", safe_title}, {"data", safe_data}, {"chart_js", *script}}));
}

}  // namespace rudder::report

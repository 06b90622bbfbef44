// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/place/draw.h"

namespace rudder::place {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 18;

/// Colours far apart for neighbours in any number: hues by the golden angle, two depths.
std::string colour(std::size_t index) {
  constexpr double kGoldenAngle = 137.508;
  const double turns = static_cast<double>(index) * kGoldenAngle / 360.0;
  const int hue = static_cast<int>((turns - static_cast<double>(static_cast<std::int64_t>(turns))) * 360.0);
  return fmt::format("hsl({},55%,{}%)", hue, index % 2 == 0 ? 62 : 45);
}

constexpr std::string_view kStyle =
    "body{font:14px sans-serif;margin:24px;color:#222}table{border-collapse:collapse}"
    "td,th{border:1px solid #fff;min-width:18px;height:18px;padding:0 3px;font-size:11px;text-align:center}"
    "th{font-weight:normal;color:#777}.key span{display:inline-block;padding:2px 8px;margin:2px}";

}  // namespace

Result<std::string> heat_map_html(const Plan& plan) {
  RUDDER_TRY(validate(plan));
  RUDDER_ASSIGN(const Grid grid, grid_of(plan.shape));
  if (grid.cells() > kMaxCells) {
    return Error{Errc::kUnsupported,
                 fmt::format("a heat map of {} nodes; {} can be drawn", grid.cells(), kMaxCells)};
  }
  const Cells cells = cells_of(plan);
  const auto columns = static_cast<std::size_t>(grid.columns);
  std::vector<const PlannedNode*> at(cells.size());
  std::vector<std::string> names;
  for (const PlannedNode& node : plan.nodes) {
    const std::size_t cell =
        static_cast<std::size_t>(node.row) * columns + static_cast<std::size_t>(node.stage);
    at[cell] = &node;
    const auto pod = static_cast<std::size_t>(cells[cell]);
    names.resize(std::max(names.size(), pod + 1));
    names[pod] = node.minipod;
  }
  std::string key;
  for (std::size_t pod = 0; pod < names.size(); ++pod) {
    key += fmt::format("<span style=\"background:{}\">{}</span>", colour(pod), html_escaped(names[pod]));
  }
  std::string table = "<tr><th>row</th>";
  std::vector<std::set<MinipodId>> touched(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    table += fmt::format("<th>{}</th>", c);
  }
  table += "<th>minipods</th></tr>\n";
  for (std::size_t r = 0; r < static_cast<std::size_t>(grid.rows); ++r) {
    table += fmt::format("<tr><th>{}</th>", r);
    std::set<MinipodId> row;
    for (std::size_t c = 0; c < columns; ++c) {
      const MinipodId pod = cells[r * columns + c];
      row.insert(pod);
      touched[c].insert(pod);
      table += fmt::format("<td style=\"background:{}\" title=\"{}, {}, rank {}\"></td>",
                           colour(static_cast<std::size_t>(pod)), html_escaped(at[r * columns + c]->host),
                           html_escaped(at[r * columns + c]->minipod), at[r * columns + c]->rank0);
    }
    table += fmt::format("<th>{}</th></tr>\n", row.size());
  }
  table += "<tr><th>minipods</th>";
  for (const auto& column : touched) {
    table += fmt::format("<th>{}</th>", column.size());
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Placement of "
      "{0}</title><style>{1}</style>"
      "</head><body>\n<h1>Placement of {0}</h1>\n<p>{2} pipelines (rows) x {3} stages (columns), {4} rank "
      "order. S {5}, "
      "Q {6}, J {7:.4g} at alpha {8:.4g}; no placement is below {9:.4g}.</p>\n<p "
      "class=\"key\">{10}</p>\n<table>\n{11}"
      "</tr></table>\n</body></html>\n",
      html_escaped(plan.job), kStyle, grid.rows, grid.columns, name_of(plan.order), plan.spread.S,
      plan.spread.Q, plan.J, plan.alpha, plan.J_lb, key, table);
}

}  // namespace rudder::place

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/ids.h"
#include "rudder/core/text.h"
#include "rudder/place/draw.h"
#include "rudder/place/hostlist.h"

namespace rudder::place {
namespace {

/// Hosts of each switch by state.
struct Counts {
  std::array<std::int64_t, 3> by_state{};
  [[nodiscard]] std::int64_t all() const { return by_state[0] + by_state[1] + by_state[2]; }
};

std::string counts_text(const Counts& counts) {
  const auto [free, busy, down] = counts.by_state;
  std::string text = fmt::format("{} host{}", counts.all(), counts.all() == 1 ? "" : "s");
  if (busy > 0 || down > 0) {
    text += fmt::format(": {} free", free);
    text += busy > 0 ? fmt::format(", {} busy", busy) : "";
    text += down > 0 ? fmt::format(", {} down", down) : "";
  }
  return text;
}

/// The tree in the order in which it is drawn: each switch followed by what is below it.
struct Drawing {
  std::vector<SwitchId> order;          ///< depth first, siblings in the topology's order
  std::vector<Counts> below;            ///< hosts below each switch
  std::vector<std::vector<HostId>> of;  ///< hosts on each switch
  std::vector<bool> last;               ///< the last child of its parent

  explicit Drawing(const Topology& topology)
      : below(topology.switches.size()), of(topology.switches.size()), last(topology.switches.size()) {
    for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
      const auto leaf = static_cast<std::size_t>(topology.hosts[h].leaf);
      of[leaf].push_back(narrow<HostId>(h));
      ++below[leaf].by_state[static_cast<std::size_t>(topology.hosts[h].state)];
    }
    // Parents have smaller ids than children: backwards, each subtree is complete before it is added.
    std::vector<std::vector<SwitchId>> children(topology.switches.size());
    std::vector<SwitchId> stack;
    for (std::size_t i = topology.switches.size(); i-- > 0;) {
      const SwitchId parent = topology.switches[i].parent;
      if (parent == kNoSwitch) {
        stack.push_back(narrow<SwitchId>(i));
        continue;
      }
      auto& siblings = children[static_cast<std::size_t>(parent)];
      last[i] = siblings.empty();
      siblings.push_back(narrow<SwitchId>(i));
      for (std::size_t state = 0; state < 3; ++state) {
        below[static_cast<std::size_t>(parent)].by_state[state] += below[i].by_state[state];
      }
    }
    while (!stack.empty()) {
      const SwitchId id = stack.back();
      stack.pop_back();
      order.push_back(id);
      const auto& next =
          children[static_cast<std::size_t>(id)];  // last sibling first: the stack turns it round
      stack.insert(stack.end(), next.begin(), next.end());
    }
  }
};

/// Bars and corners left of a switch, from those of its ancestors.
std::string branch(const Topology& topology, const Drawing& drawing, SwitchId id) {
  constexpr int kDrawnLevels = 32;  // chains are told, not drawn to scale
  std::vector<std::string_view> parts;
  bool own = true;
  int drawn = 0;
  for (SwitchId at = id;
       topology.switches[static_cast<std::size_t>(at)].parent != kNoSwitch && drawn < kDrawnLevels;
       at = topology.switches[static_cast<std::size_t>(at)].parent, ++drawn) {
    const bool last = drawing.last[static_cast<std::size_t>(at)];
    parts.push_back(own ? (last ? "└─ " : "├─ ") : (last ? "   " : "│  "));
    own = false;
  }
  std::string text;
  std::for_each(parts.rbegin(), parts.rend(), [&](std::string_view part) { text += part; });
  return text;
}

}  // namespace

std::string topology_text(const Topology& topology, std::size_t lines) {
  const Drawing drawing(topology);
  std::string text;
  for (std::size_t i = 0; i < drawing.order.size(); ++i) {
    if (i == lines) {
      text += fmt::format("... and {} more switches\n", drawing.order.size() - lines);
      break;
    }
    const auto id = static_cast<std::size_t>(drawing.order[i]);
    text += branch(topology, drawing, drawing.order[i]) + topology.switches[id].name;
    if (drawing.of[id].empty()) {
      text += fmt::format("  ({})\n", counts_text(drawing.below[id]));
      continue;
    }
    std::vector<std::string> names;
    for (const HostId host : drawing.of[id]) {
      names.push_back(topology.hosts[static_cast<std::size_t>(host)].name);
    }
    text += fmt::format("  {}  ({})\n", compress_hostlist(names), counts_text(drawing.below[id]));
  }
  return text;
}

namespace {

constexpr int kColumn = 180;  // pixels of one level
constexpr int kLine = 22;     // of one leaf
constexpr int kSquare = 10;   // of one host
constexpr int kHostsALine = 64;
constexpr std::size_t kMaxLeaves = 2000;
constexpr std::size_t kMaxHostsDrawn = 100'000;
constexpr std::array<std::string_view, 3> kStateColours = {"#4daf7c", "#e0a030", "#c0392b"};

/// Deepest level whose switches (and leaves above it) are few enough to be drawn.
std::int32_t drawn_level(const Topology& topology) {
  std::int32_t deepest = 0;
  for (const Switch& s : topology.switches) {
    deepest = std::max(deepest, s.level);
  }
  std::vector<std::size_t> at_level(static_cast<std::size_t>(deepest) + 1);
  for (const Switch& s : topology.switches) {
    ++at_level[static_cast<std::size_t>(s.level)];
  }
  constexpr std::int32_t kMaxLevels = 16;
  std::int32_t level = 0;
  std::size_t sum = at_level[0];
  while (level < std::min(deepest, kMaxLevels) &&
         sum + at_level[static_cast<std::size_t>(level) + 1] <= kMaxLeaves) {
    sum += at_level[static_cast<std::size_t>(++level)];
  }
  return level;
}

/// Squares for the hosts of one switch; their number of lines.
int draw_hosts(const Topology& topology, const std::vector<HostId>& hosts, int x, int y, std::string& svg) {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const Host& host = topology.hosts[static_cast<std::size_t>(hosts[i])];
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>\n",
        x + static_cast<int>(i % kHostsALine) * (kSquare + 2),
        y + static_cast<int>(i / kHostsALine) * (kSquare + 2), kSquare, kSquare,
        kStateColours[static_cast<std::size_t>(host.state)], html_escaped(host.name));
  }
  return static_cast<int>((hosts.size() + kHostsALine - 1) / kHostsALine);
}

}  // namespace

std::string topology_svg(const Topology& topology) {
  const Drawing drawing(topology);
  const std::int32_t level = drawn_level(topology);
  const bool draw_squares = topology.hosts.size() <= kMaxHostsDrawn;
  std::vector<int> y_of(topology.switches.size());
  std::string body;
  int y = kLine;
  for (const SwitchId id : drawing.order) {
    const auto i = static_cast<std::size_t>(id);
    const Switch& s = topology.switches[i];
    if (s.level > level) {
      continue;
    }
    y_of[i] = y;
    const int x = 10 + s.level * kColumn;
    if (s.parent != kNoSwitch) {
      const int from = y_of[static_cast<std::size_t>(s.parent)];
      body += fmt::format("<path d=\"M{0} {1}V{2}H{3}\"/>\n", x - kColumn + 6, from + 4, y - 4, x - 4);
    }
    body += fmt::format("<text x=\"{}\" y=\"{}\">{} <tspan class=\"n\">{}</tspan></text>\n", x, y,
                        html_escaped(s.name), counts_text(drawing.below[i]));
    int host_lines = 0;
    if (draw_squares && !drawing.of[i].empty()) {
      host_lines = draw_hosts(topology, drawing.of[i], 10 + (level + 1) * kColumn, y - kSquare, body);
    }
    y += std::max(kLine, host_lines * (kSquare + 2) + 8);
  }
  const int width = 20 + (level + 1) * kColumn + (draw_squares ? kHostsALine * (kSquare + 2) : 0);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>text{{font:12px sans-serif;fill:#222}}.n{{fill:#777}}path{{fill:none;stroke:#999}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
      width, y, body);
}

}  // namespace rudder::place

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/rng.h"
#include "rudder/core/text.h"
#include "rudder/steer/classifier.h"

namespace rudder::steer {
namespace {

std::uint64_t draw(std::uint64_t seed, std::string_view name) {
  std::uint64_t key = stream_key({seed, name.size()});
  for (const char each : name) {
    key = mix64(key ^ static_cast<unsigned char>(each)) + 1;
  }
  return key;
}

Status check_graphs(const std::map<std::string, std::set<std::string>>& runs,
                    const ClassifierOptions& options) {
  std::vector<std::string_view> names;
  for (const auto& [graph, unused] : runs) {
    names.push_back(graph);
  }
  for (const std::string& graph : options.held_out_graphs) {
    if (runs.find(graph) == runs.end()) {
      const std::string near = nearest_name(graph, names);
      return Error{Errc::kInvalidArgument,
                   fmt::format("no window is of graph '{}', which is to be held out{}", printable(graph),
                               near.empty() ? "" : fmt::format(" (did you mean '{}'?)", printable(near)))};
    }
  }
  return {};
}

/// The runs of one graph that are held out: those that the draw puts first.
std::set<std::string> held_out(const std::set<std::string>& runs, const ClassifierOptions& options) {
  const auto wanted =
      static_cast<std::size_t>(std::lround(options.held_out_runs * static_cast<double>(runs.size())));
  const std::size_t least = options.held_out_runs > 0 && runs.size() > 1 ? 1 : 0;
  const std::size_t count = std::clamp(wanted, least, std::max(least, runs.size() - 1));
  std::vector<std::pair<std::uint64_t, std::string>> drawn;
  for (const std::string& run : runs) {
    drawn.emplace_back(draw(options.seed, run), run);
  }
  std::sort(drawn.begin(), drawn.end());
  std::set<std::string> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.insert(drawn[i].second);
  }
  return chosen;
}

}  // namespace

Result<Split> split_of(std::span<const Experience> experiences, const ClassifierOptions& options) {
  if (!(options.held_out_runs >= 0 && options.held_out_runs < 1)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("held-out share of runs {} is not within [0, 1)", options.held_out_runs)};
  }
  std::map<std::string, std::set<std::string>> runs;
  for (const Experience& each : experiences) {
    runs[each.graph].insert(each.run);
  }
  RUDDER_TRY(check_graphs(runs, options));
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [graph, names] : runs) {
    out[graph] = held_out(names, options);
  }
  Split split;
  for (std::size_t i = 0; i < experiences.size(); ++i) {
    const Experience& each = experiences[i];
    const bool strange = std::find(options.held_out_graphs.begin(), options.held_out_graphs.end(),
                                   each.graph) != options.held_out_graphs.end();
    const bool unseen = out[each.graph].find(each.run) != out[each.graph].end();
    (strange ? split.held_out_graphs : unseen ? split.held_out_runs : split.train).push_back(i);
  }
  if (split.train.empty()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("of {} windows none is left to learn from", experiences.size())};
  }
  return split;
}

}  // namespace rudder::steer

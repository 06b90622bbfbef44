// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/gantt.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/check.h"

#include "sched/gantt_page.h"

namespace rudder::sched {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMark = "/*DATA*/null";

char color_of(const RunRecord& run, const JobSpec& job) {
  if (run.how == RunEnd::kPreempted) {
    return 'x';
  }
  if (run.how == RunEnd::kFailedNode) {
    return 'f';
  }
  if (job.planned()) {
    return 'p';
  }
  return job.nodes > 1 ? 'g' : 'o';
}

/// The lowest run of `need` GPUs of a host that nobody holds between `start` and the stays before it: only
/// for the eye, schedulers do not number GPUs. `busy_until` is per GPU.
std::int32_t lane(std::vector<Time>& busy_until, std::int32_t need, Time start, Time end) {
  const auto size = static_cast<std::int32_t>(busy_until.size());
  std::int32_t first = 0;
  for (std::int32_t from = 0; from + need <= size; ++from) {
    const auto begin = busy_until.begin() + from;
    if (std::all_of(begin, begin + need, [&](Time until) { return until <= start; })) {
      first = from;
      break;
    }
  }
  for (std::int32_t i = first; i < std::min(size, first + need); ++i) {
    busy_until[static_cast<std::size_t>(i)] = std::max(busy_until[static_cast<std::size_t>(i)], end);
  }
  return first;
}

/// Stays to draw, by start.
std::vector<const RunRecord*> drawn(const Trace& trace, const SimResult& result, std::size_t most) {
  std::vector<const RunRecord*> all;
  for (const RunRecord& run : result.runs) {
    if (run.end > run.start) {
      all.push_back(&run);
    }
  }
  if (all.size() > most) {
    const auto weight = [&](const RunRecord* run) {
      return static_cast<double>(run->end - run->start) *
             static_cast<double>(trace.jobs[static_cast<std::size_t>(run->job)].spec.all_gpus());
    };
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most), all.end(),
                     [&](const RunRecord* a, const RunRecord* b) { return weight(a) > weight(b); });
    all.resize(most);
  }
  std::sort(all.begin(), all.end(), [](const RunRecord* a, const RunRecord* b) {
    return std::pair(a->start, a->job) < std::pair(b->start, b->job);
  });
  return all;
}

Json bars_json(const Cluster& cluster, const Trace& trace, const std::vector<const RunRecord*>& stays) {
  std::vector<std::vector<Time>> busy(cluster.hosts());
  for (std::size_t h = 0; h < busy.size(); ++h) {
    busy[h].assign(static_cast<std::size_t>(cluster.gpus[h]), 0);
  }
  Json bars = Json::array();
  for (const RunRecord* run : stays) {
    const JobSpec& job = trace.jobs[static_cast<std::size_t>(run->job)].spec;
    Json hosts = Json::array();
    for (const HostId host : run->hosts) {
      const auto h = static_cast<std::size_t>(host);
      const double whole = cluster.gpus[h];
      const std::int32_t first = lane(busy[h], job.gpus, run->start, run->end);
      hosts.push_back({host, first / whole, job.gpus / whole});
    }
    bars.push_back({{"j", job.name},
                    {"s", run->start},
                    {"e", run->end},
                    {"c", std::string(1, color_of(*run, job))},
                    {"h", std::move(hosts)}});
  }
  return bars;
}

/// What stands above the chart: pairs of a name and a value.
Json figures_json(const SimMetrics& metrics) {
  const auto hours = [](double seconds) { return fmt::format("{:.2f} h", seconds / 3600); };
  Json figures = Json::array();
  figures.push_back({"jobs finished", fmt::format("{} of {}", metrics.finished, metrics.jobs)});
  figures.push_back({"allocation", fmt::format("{:.1f} %", metrics.allocation * 100)});
  figures.push_back({"retention", metrics.retention ? fmt::format("{:.1f} %", *metrics.retention * 100)
                                                    : std::string("-")});
  figures.push_back({"makespan", hours(metrics.makespan)});
  figures.push_back({"mean queue delay", hours(metrics.queue_delay.mean)});
  figures.push_back({"mean job completion time", hours(metrics.jct.mean)});
  figures.push_back({"preemptions", std::to_string(metrics.preemptions)});
  return figures;
}

}  // namespace

std::string gantt_page(const Cluster& cluster, const Trace& trace, const SimResult& result,
                       const SimMetrics& metrics, const GanttOptions& options) {
  const std::vector<const RunRecord*> stays = drawn(trace, result, options.most_bars);
  Json zones = Json::array();
  for (const ZoneRecord& zone : result.zones) {
    zones.push_back({{"s", zone.planned}, {"e", zone.arrival}, {"h", zone.hosts}});
  }
  const Json data = {{"title", options.title},
                     {"begin", result.begin},
                     {"end", result.end},
                     {"hosts", cluster.names},
                     {"minipods", cluster.minipod},
                     {"figures", figures_json(metrics)},
                     {"left_out", result.runs.size() - stays.size()},
                     {"zones", std::move(zones)},
                     {"bars", bars_json(cluster, trace, stays)}};
  // No "<" can end the script element or open a comment.
  std::string text = data.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    text.replace(at, 1, "\\u003c");
  }
  std::string page = gantt_template();
  const std::size_t mark = page.find(kMark);
  RUDDER_CHECK(mark != std::string::npos, "the page has a place for its data");
  page.replace(mark, kMark.size(), text);
  return page;
}

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rudder/sched/planner.h"

#include "sched/board.h"

namespace rudder::sched {
namespace {

/// What keeps one minipod's hosts from a job.
struct Obstacles {
  std::int32_t fit = 0;
  std::int32_t busy = 0;
  std::int32_t held = 0;
  std::int32_t down = 0;
  std::int32_t small = 0;
  Time next_release = kNever;
  std::string holder;
  Time holder_arrival = kNever;
};

std::string text_of(const std::string& minipod, const Obstacles& seen, Time now) {
  std::string line = fmt::format("minipod {}: {} hosts fit", minipod, seen.fit);
  if (seen.busy > 0) {
    line += fmt::format(", {} busy", seen.busy);
    if (seen.next_release < kNever) {
      line += fmt::format(" (the first until {} s from now)", seen.next_release - now);
    }
  }
  if (seen.held > 0) {
    line += fmt::format(", {} held for job '{}' in {} s, before it would end", seen.held, seen.holder,
                        std::max<Time>(0, seen.holder_arrival - now));
  }
  if (seen.down > 0) {
    line += fmt::format(", {} down", seen.down);
  }
  if (seen.small > 0) {
    line += fmt::format(", {} too small", seen.small);
  }
  return line;
}

std::string name_of(const Snapshot& snapshot, JobId job) {
  const auto found = std::find_if(snapshot.waiting.begin(), snapshot.waiting.end(),
                                  [&](const WaitingJob& entry) { return entry.job->id == job; });
  return found == snapshot.waiting.end() ? std::to_string(job) : found->job->name;
}

/// The earliest holder of the host that a job of this length would run into.
void note_holder(const Snapshot& snapshot, const WaitingJob& entry, HostId host, Obstacles& seen) {
  const auto offer = [&](JobId job, Time arrival, const std::vector<HostId>& hosts) {
    const bool on_host = std::find(hosts.begin(), hosts.end(), host) != hosts.end();
    if (on_host && job != entry.job->id && snapshot.now + entry.estimate > arrival &&
        arrival < seen.holder_arrival) {
      seen.holder_arrival = arrival;
      seen.holder = name_of(snapshot, job);
    }
  };
  for (const Zone& zone : snapshot.zones) {
    offer(zone.job, zone.arrival, zone.hosts);
  }
  if (snapshot.head != nullptr) {
    offer(snapshot.head->job, snapshot.head->start, snapshot.head->hosts);
  }
}

void look_at(Board& board, const Snapshot& snapshot, const WaitingJob& entry, HostId host, Obstacles& seen) {
  const JobSpec& job = *entry.job;
  if (!board.up(host)) {
    ++seen.down;
  } else if (snapshot.cluster->gpus[static_cast<std::size_t>(host)] < job.gpus) {
    ++seen.small;
  } else if (board.free(host) < job.gpus) {
    ++seen.busy;
    for (const RunningJob* run : board.running_on(host)) {
      seen.next_release = std::min(seen.next_release, expected_end(*run, snapshot.now));
    }
  } else if (!board.clear(host, snapshot.now, entry.estimate, !job.preemptible)) {
    ++seen.held;
    note_holder(snapshot, entry, host, seen);
  } else {
    ++seen.fit;
  }
}

}  // namespace

std::vector<std::string> explain(const Snapshot& snapshot, JobId job) {
  Board board(snapshot);
  const WaitingJob* entry = board.waiting(job);
  if (entry == nullptr) {
    return {};
  }
  for (const Zone& zone : snapshot.zones) {
    if (zone.job != job) {
      board.hold(zone.hosts,
                 {.arrival = zone.arrival, .end = zone.end, .planned = zone.kind == ZoneKind::kPlanned});
    }
  }
  if (snapshot.head != nullptr && snapshot.head->job != job) {
    board.hold(snapshot.head->hosts, {.arrival = snapshot.head->start, .end = kNever, .planned = false});
  }
  std::vector<std::string> lines = {fmt::format("needs {} hosts with {} free GPUs for {} s",
                                                entry->job->nodes, entry->job->gpus, entry->estimate)};
  if (entry->job->planned() && entry->job->arrival > snapshot.now) {
    lines.push_back(fmt::format("planned for {} s from now", entry->job->arrival - snapshot.now));
  }
  if (snapshot.quotas != nullptr && snapshot.quotas->mode != QuotaMode::kNone) {
    std::int64_t used = 0;
    for (const RunningJob& run : snapshot.running) {
      used += run.job->tenant == entry->job->tenant ? run.job->all_gpus() : 0;
    }
    lines.push_back(
        fmt::format("its tenant holds {} of {} GPUs", used, snapshot.quotas->of(entry->job->tenant)));
  }
  for (std::size_t k = 0; k < snapshot.cluster->minipods(); ++k) {
    Obstacles seen;
    for (const HostId host : snapshot.cluster->members[k]) {
      look_at(board, snapshot, *entry, host, seen);
    }
    lines.push_back(text_of(snapshot.cluster->minipod_names[k], seen, snapshot.now));
  }
  return lines;
}

}  // namespace rudder::sched

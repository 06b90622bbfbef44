// SPDX-License-Identifier: Apache-2.0
// EASY backfill's reservation: when, and on which hosts, the first delayed job is expected to start.
#include <algorithm>
#include <utility>

#include "sched/cycle.h"

namespace rudder::sched {
namespace {

/// Start times that are possible on one host: from <= t <= to.
struct Window {
  HostId host = 0;
  Time from = 0;
  Time to = 0;
};

/// Moments when each host first has `gpus` free; kNever where it never has.
std::vector<Time> first_free(Board& board, const JobSpec& job) {
  std::vector<std::int32_t> free(board.hosts());
  std::vector<Time> at(board.hosts(), kNever);
  for (std::size_t h = 0; h < free.size(); ++h) {
    const auto host = static_cast<HostId>(h);
    free[h] = board.free(host);
    if (board.up(host) && free[h] >= job.gpus) {
      at[h] = board.now();
    }
  }
  for (const ReleaseOf& release : board.releases()) {
    const auto h = static_cast<std::size_t>(release.host);
    free[h] += release.gpus;
    if (at[h] == kNever && board.up(release.host) && free[h] >= job.gpus) {
      at[h] = std::max(board.now(), release.at);
    }
  }
  return at;
}

void add_windows(const Board& board, const WaitingJob& entry, HostId host, Time from,
                 std::vector<Window>& windows) {
  std::vector<Hold> holds;
  for (const Hold& hold : board.holds(host)) {
    if (!hold.planned || !entry.job->preemptible) {
      holds.push_back(hold);
    }
  }
  std::sort(holds.begin(), holds.end(), [](const Hold& a, const Hold& b) { return a.arrival < b.arrival; });
  for (const Hold& hold : holds) {
    const Time last = hold.arrival - entry.estimate;
    if (from <= last) {
      windows.push_back({.host = host, .from = from, .to = last});
    }
    from = std::max(from, hold.end);
  }
  windows.push_back({.host = host, .from = from, .to = kNever});
}

/// The earliest time that `nodes` windows contain; kNever when there is none.
Time earliest(const std::vector<Window>& windows, std::int32_t nodes) {
  std::vector<std::pair<Time, int>> steps;
  for (const Window& window : windows) {
    steps.emplace_back(window.from, -1);  // sorts before a window's end at the same time
    steps.emplace_back(window.to + 1, 0);
  }
  std::sort(steps.begin(), steps.end());
  std::int32_t open = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    open += steps[i].second == -1 ? 1 : -1;
    const bool last_of_its_time = i + 1 == steps.size() || steps[i + 1].first != steps[i].first;
    if (last_of_its_time && open >= nodes) {
      return steps[i].first;
    }
  }
  return kNever;
}

}  // namespace

void Cycle::plan_head(const WaitingJob& entry) {
  const JobSpec& job = *entry.job;
  const std::vector<Time> from = first_free(board_, job);
  std::vector<Window> windows;
  for (std::size_t h = 0; h < from.size(); ++h) {
    if (from[h] < kNever) {
      add_windows(board_, entry, static_cast<HostId>(h), from[h], windows);
    }
  }
  const Time start = earliest(windows, job.nodes);
  if (start >= kNever) {
    return;
  }
  const auto open_at = [&](HostId host, Time time) {
    return std::any_of(windows.begin(), windows.end(), [&](const Window& window) {
      return window.host == host && window.from <= time && time <= window.to;
    });
  };
  HeadPlan head{.job = job.id, .start = start, .hosts = {}};
  const HeadPlan* last = snapshot_.head;
  // A plan that still holds is kept unless another is earlier.
  if (last != nullptr && last->job == job.id && last->start <= start && last->start > board_.now() &&
      std::all_of(last->hosts.begin(), last->hosts.end(),
                  [&](HostId host) { return open_at(host, last->start); })) {
    head = *last;
  } else {
    candidates_.clear();
    for (const Window& window : windows) {
      if (window.from <= start && start <= window.to) {
        const bool zone = board_.in_zone(window.host);
        candidates_.push_back({.host = window.host, .cost = zone ? 1.0 : 0.0});
      }
    }
    std::optional<Allocation> found = placer_.place(board_.cluster(), job, candidates_, Side::kFirst);
    if (!found) {
      return;
    }
    head.hosts = std::move(found->hosts);
  }
  board_.hold(head.hosts, {.arrival = head.start, .end = kNever, .planned = false});
  plan_.head = std::move(head);
}

}  // namespace rudder::sched

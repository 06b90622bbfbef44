// SPDX-License-Identifier: Apache-2.0
#include "sched/board.h"

#include <algorithm>
#include <tuple>

#include "rudder/core/check.h"

namespace rudder::sched {

Board::Board(const Snapshot& snapshot)
    : snapshot_(snapshot), free_(snapshot.nodes.size()), holds_(snapshot.nodes.size()) {
  RUDDER_CHECK(snapshot.nodes.size() == snapshot.cluster->hosts(), "a state a host");
  for (std::size_t h = 0; h < free_.size(); ++h) {
    free_[h] = snapshot.nodes[h].up ? snapshot.nodes[h].free : 0;
    free_gpus_ += free_[h];
  }
}

void Board::take(const JobSpec& job, std::span<const HostId> hosts, Time estimate) {
  for (const HostId host : hosts) {
    RUDDER_CHECK(free_[index(host)] >= job.gpus, "a start takes GPUs that are free");
    free_[index(host)] -= job.gpus;
    started_.push_back({.at = now() + estimate, .host = host, .gpus = job.gpus});
  }
  free_gpus_ -= job.all_gpus();
  releases_known_ = false;
}

void Board::hold(std::span<const HostId> hosts, Hold hold) {
  for (const HostId host : hosts) {
    holds_[index(host)].push_back(hold);
  }
}

bool Board::clear(HostId host, Time at, Time length, bool zones, JobId own) const noexcept {
  const std::vector<Hold>& all = holds_[index(host)];
  return std::none_of(all.begin(), all.end(), [&](const Hold& hold) {
    const bool counts = (zones || !hold.planned) && (own < 0 || hold.job != own);
    return counts && at < hold.end && at + length > hold.arrival;
  });
}

bool Board::in_zone(HostId host) const noexcept {
  const std::vector<Hold>& all = holds_[index(host)];
  return std::any_of(all.begin(), all.end(), [](const Hold& hold) { return hold.planned; });
}

std::span<const RunningJob* const> Board::running_on(HostId host) {
  if (running_on_.empty()) {
    running_on_.resize(hosts());
    for (const RunningJob& run : snapshot_.running) {
      for (const HostId used : run.hosts) {
        running_on_[index(used)].push_back(&run);
      }
    }
  }
  return running_on_[index(host)];
}

std::span<const ReleaseOf> Board::releases() {
  if (releases_known_) {
    return releases_;
  }
  releases_ = started_;
  for (const RunningJob& run : snapshot_.running) {
    const Time end = expected_end(run, now());
    for (const HostId host : run.hosts) {
      releases_.push_back({.at = end, .host = host, .gpus = run.job->gpus});
    }
  }
  std::sort(releases_.begin(), releases_.end(), [](const ReleaseOf& a, const ReleaseOf& b) {
    return std::tie(a.at, a.host, a.gpus) < std::tie(b.at, b.host, b.gpus);
  });
  releases_known_ = true;
  return releases_;
}

const WaitingJob* Board::waiting(JobId job) const noexcept {
  const auto found = std::find_if(snapshot_.waiting.begin(), snapshot_.waiting.end(),
                                  [&](const WaitingJob& entry) { return entry.job->id == job; });
  return found == snapshot_.waiting.end() ? nullptr : &*found;
}

double requeue_cost(const RunningJob& run, Time now) noexcept {
  return static_cast<double>(run.job->all_gpus()) *
         static_cast<double>(std::max<Time>(0, now - run.safe) + run.job->restart);
}

}  // namespace rudder::sched

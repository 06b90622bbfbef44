// SPDX-License-Identifier: Apache-2.0
#include "sched/jct_features.h"

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <string>
#include <string_view>
#include <utility>

#include "rudder/core/rng.h"

namespace rudder::sched {
namespace {

constexpr std::size_t kRecent = 5;
constexpr float kUnknown = -1.0F;

/// Run times and ends of one user's finished jobs.
struct History {
  std::deque<float> recent;  ///< log2 minutes, newest last
  std::map<std::int64_t, std::deque<float>> by_gpus;
  std::int64_t count = 0;
  std::int64_t failed = 0;
};

float mean(const std::deque<float>& values) {
  if (values.empty()) {
    return kUnknown;
  }
  return std::accumulate(values.begin(), values.end(), 0.0F) / static_cast<float>(values.size());
}

void remember(std::deque<float>& values, float value) {
  values.push_back(value);
  if (values.size() > kRecent) {
    values.pop_front();
  }
}

/// A category as a number: trees split it into ranges. Fold of the bytes without digits, so that "train-17"
/// and "train-18" are one name.
float category(std::string_view text) {
  std::uint64_t hash = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      hash = mix64(hash ^ static_cast<unsigned char>(c));
    }
  }
  return static_cast<float>(hash % 4096);
}

float category_with_digits(std::string_view text) {
  std::uint64_t hash = 0;
  for (const char c : text) {
    hash = mix64(hash ^ static_cast<unsigned char>(c));
  }
  return static_cast<float>(hash % 4096);
}

class Historian {
 public:
  explicit Historian(const Trace& trace) : trace_(trace) {}

  /// Learns of every job that had ended by `now`.
  void catch_up(Time now) {
    while (!ends_.empty() && ends_.top().first <= now) {
      const TraceJob& job = trace_.jobs[ends_.top().second];
      ends_.pop();
      History& history = histories_[key(job.spec)];
      const auto minutes = static_cast<float>(std::log2(static_cast<double>(job.duration) / 60.0 + 1.0));
      remember(history.recent, minutes);
      remember(history.by_gpus[job.spec.all_gpus()], minutes);
      ++history.count;
      history.failed += job.failed ? 1 : 0;
    }
  }
  void add(std::size_t index) {
    const TraceJob& job = trace_.jobs[index];
    ends_.emplace((job.spec.planned() ? job.spec.arrival : job.spec.submit) + job.duration, index);
  }
  [[nodiscard]] const History& of(const JobSpec& spec) { return histories_[key(spec)]; }

 private:
  static const std::string& key(const JobSpec& spec) { return spec.user.empty() ? spec.queue : spec.user; }

  using End = std::pair<Time, std::size_t>;
  const Trace& trace_;
  std::map<std::string, History> histories_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

void add_own(const JobSpec& spec, std::int64_t epoch, std::vector<float>& row) {
  const std::int64_t clock = epoch + spec.submit;
  row.push_back(static_cast<float>(spec.all_gpus()));
  row.push_back(static_cast<float>(spec.nodes));
  row.push_back(static_cast<float>(spec.cpus));
  row.push_back(static_cast<float>(spec.memory_gib));
  row.push_back(category_with_digits(spec.gpu_type));
  row.push_back(category_with_digits(spec.user));
  row.push_back(category_with_digits(spec.queue));
  row.push_back(category(spec.name));
  row.push_back(static_cast<float>(clock / 3600 % 24));
  row.push_back(static_cast<float>(clock / 86400 % 7));
}

void add_history(const History& history, std::int64_t gpus, std::vector<float>& row) {
  const auto same = history.by_gpus.find(gpus);
  row.push_back(history.recent.empty() ? kUnknown : history.recent.back());
  row.push_back(mean(history.recent));
  row.push_back(same == history.by_gpus.end() ? kUnknown : mean(same->second));
  row.push_back(history.count == 0 ? kUnknown
                                   : static_cast<float>(history.failed) / static_cast<float>(history.count));
  row.push_back(static_cast<float>(history.count));
}

}  // namespace

std::vector<float> jct_features(const Trace& trace) {
  std::vector<float> rows;
  rows.reserve(trace.jobs.size() * kFeatures);
  Historian historian(trace);
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const JobSpec& spec = trace.jobs[i].spec;
    historian.catch_up(spec.submit);
    add_own(spec, trace.epoch, rows);
    add_history(historian.of(spec), spec.all_gpus(), rows);
    historian.add(i);
  }
  return rows;
}

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
// A Slurm in memory: answers the commands that the engine gives, and starts what is released when its nodes
// are idle. It can be told to die: from then on every command fails without an effect, as for a killed
// planner. As the real one it lets what was requeued wait for two minutes unless told otherwise, and ends for
// good what starts while nodes still hold its old credential for void; their clocks are ahead by kAhead.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/place/hostlist.h"
#include "rudder/sched/slurm_engine.h"

namespace rudder::sched::testing_support {

struct FakeJob {
  JobId id = 0;
  std::string comment;
  std::string admin;
  std::string required;
  std::string reservation;
  std::string user = "ann";
  std::int32_t nodes = 1;
  std::int32_t minutes = 10;
  Time submit = 1'000'000;  ///< or the last requeue
  Time begin = 0;           ///< not before
  Time start = 0;
  Time work = 60;  ///< seconds
  bool held = true;
  bool requeue = true;
  int restarts = 0;
  std::string state = "PENDING";
  std::string reason = "JobHeldUser";
  std::vector<std::string> hosts;
};

class FakeSlurm {
 public:
  explicit FakeSlurm(std::vector<std::string> names) : names_(std::move(names)) {}

  std::map<JobId, FakeJob> jobs;
  std::map<std::string, SlurmReservation> reservations;
  std::set<std::string> drained;
  std::vector<std::string> given;  ///< commands that changed something
  Time now = 1'000'000;
  int lives = -1;  ///< commands until death; -1: does not die
  static constexpr Time kAhead = 3;
  std::string topology;

  JobId submit(FakeJob job) {
    job.id = static_cast<JobId>(jobs.size()) + 1;
    jobs[job.id] = job;
    return job.id;
  }

  SlurmEngine::Runner runner() {
    return [this](const std::vector<std::string>& words) { return run(words); };
  }
  SlurmEngine::Clock clock() {
    return [this] { return now; };
  }

  /// Moves on by a second: ends what has done its work or reached its limit, starts what may start.
  void tick() {
    ++now;
    for (auto& [id, job] : jobs) {
      if (job.state == "COMPLETING") {
        put_back(job);
      } else if (job.state == "RUNNING" &&
                 now >= job.start + std::min<Time>(job.work, job.minutes * Time{60})) {
        job.state = "COMPLETED";
        job.hosts.clear();
        job.reservation.clear();
      }
    }
    for (auto& [id, job] : jobs) {
      if (job.state == "PENDING" && !job.held) {
        try_start(job);
      }
    }
  }

  /// The node goes down, and Slurm requeues the gang that it takes along.
  void fail(const std::string& name) {
    drained.insert(name);
    for (auto& [id, job] : jobs) {
      if (std::find(job.hosts.begin(), job.hosts.end(), name) != job.hosts.end()) {
        ++job.restarts;
        put_back(job);
      }
    }
  }

  [[nodiscard]] bool busy(const std::string& name) const {
    return std::any_of(jobs.begin(), jobs.end(), [&](const auto& entry) {
      const auto& hosts = entry.second.hosts;
      return std::find(hosts.begin(), hosts.end(), name) != hosts.end();
    });
  }

 private:
  void put_back(FakeJob& job) const {
    job.state = "PENDING";
    job.hosts.clear();
    job.submit = now;
    job.begin = now + 121;
  }

  void try_start(FakeJob& job) {
    const std::vector<std::string> wanted = place::expand_hostlist(job.required).value();
    const bool free = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
      return !drained.contains(name) && !busy(name) && may_enter(job, name);
    });
    if (now >= job.begin && free && wanted.size() == static_cast<std::size_t>(job.nodes)) {
      if (job.restarts > 0 && now <= job.submit + kAhead) {
        job.state = "FAILED";  // "Job credential revoked"
        return;
      }
      job.hosts = wanted;
      std::sort(job.hosts.begin(), job.hosts.end());
      job.state = "RUNNING";
      job.start = now;
    }
  }

  [[nodiscard]] bool may_enter(const FakeJob& job, const std::string& name) const {
    return std::all_of(reservations.begin(), reservations.end(), [&](const auto& entry) {
      const SlurmReservation& one = entry.second;
      const bool covers = std::find(one.nodes.begin(), one.nodes.end(), name) != one.nodes.end();
      const bool member = job.reservation == one.name &&
                          std::find(one.users.begin(), one.users.end(), job.user) != one.users.end();
      return !covers || member || now + job.minutes * Time{60} <= one.start || now >= one.end;
    });
  }

  Result<std::string> run(const std::vector<std::string>& words) {
    if (lives == 0) {
      return Error{Errc::kCancelled, "dead"};
    }
    if (words[0] == "sinfo") {
      return words.back() == "%R" ? "main\n" : sinfo();
    }
    if (words[0] == "env") {
      return show_reservations();
    }
    if (words[0] == "squeue") {
      return squeue();
    }
    if (words[1] == "show") {
      return topology;
    }
    lives -= lives > 0 ? 1 : 0;
    given.push_back(fmt::format("{}", fmt::join(words, " ")));
    return change(words);
  }

  std::string sinfo() const {
    std::string text;
    for (const std::string& name : names_) {
      text += fmt::format("{} {}\n", name,
                          drained.contains(name) ? "drained"
                          : busy(name)           ? "allocated"
                                                 : "idle");
    }
    return text;
  }

  std::string show_reservations() const {
    std::string text;
    for (const auto& [name, one] : reservations) {
      text += fmt::format("ReservationName={} StartTime={} EndTime={} Nodes={} Users={} State=INACTIVE\n",
                          name, one.start, one.end, fmt::join(one.nodes, ","), fmt::join(one.users, ","));
    }
    return text.empty() ? "No reservations in the system\n" : text;
  }

  std::string squeue() const {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [id, job] : jobs) {
      list.push_back({{"job_id", id},
                      {"name", fmt::format("job{}", id)},
                      {"user_name", job.user},
                      {"partition", "main"},
                      {"comment", job.comment},
                      {"admin_comment", job.admin},
                      {"job_state", job.state},
                      {"state_reason", !job.held && now < job.begin ? "BeginTime" : job.reason},
                      {"resv_name", job.reservation},
                      {"priority", job.held ? 0 : 1},
                      {"requeue", job.requeue},
                      {"node_count", job.nodes},
                      {"tasks", job.nodes},
                      {"restart_cnt", job.restarts},
                      {"submit_time", job.submit},
                      {"start_time", job.state == "PENDING" ? job.begin : job.start},
                      {"eligible_time", job.held ? 0 : now},
                      {"time_limit", job.minutes},
                      {"nodes", fmt::format("{}", fmt::join(job.hosts, ","))},
                      {"required_nodes", job.required}});
    }
    return nlohmann::json{{"errors", nlohmann::json::array()}, {"jobs", list}}.dump();
  }

  static std::map<std::string, std::string> settings(const std::vector<std::string>& words) {
    std::map<std::string, std::string> all;
    for (const std::string& word : words) {
      if (const std::size_t equals = word.find('='); equals != std::string::npos) {
        all[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
    return all;
  }

  Result<std::string> change(const std::vector<std::string>& words) {
    auto set = settings(words);
    if (words[1] == "create") {
      return put_reservation(set, !reservations.contains(set["ReservationName"]));
    }
    if (words[1] == "delete") {
      return remove_reservation(set["ReservationName"]);
    }
    if (set.contains("JobId")) {
      return update_job(jobs.at(std::stoll(set["JobId"])), set);
    }
    if (words[1] == "update") {
      return put_reservation(set, reservations.contains(set["ReservationName"]));
    }
    FakeJob& job = jobs.at(std::stoll(words.back()));
    if (words[1] == "requeuehold") {
      if (!job.requeue || job.state != "RUNNING") {
        return Error{Errc::kInternal, "requeue is disabled"};
      }
      job.state = "COMPLETING";
      job.held = true;
      ++job.restarts;
    } else if (words[1] == "release" || words[1] == "uhold") {
      job.held = words[1] == "uhold";
    }
    return std::string();
  }

  /// "now" or "uts1000000".
  [[nodiscard]] Time time_of(const std::string& text) const {
    return text == "now" ? now : std::stoll(text.substr(3));
  }

  Result<std::string> remove_reservation(const std::string& name) {
    const bool used =
        std::any_of(jobs.begin(), jobs.end(), [&](const auto& e) { return e.second.reservation == name; });
    if (used || reservations.erase(name) == 0) {
      return Error{Errc::kInternal, "reservation in use or unknown: " + name};
    }
    return std::string();
  }

  Result<std::string> update_job(FakeJob& job, std::map<std::string, std::string>& set) {
    for (const auto& [key, target] : {std::pair{"AdminComment", &job.admin},
                                      {"ReqNodeList", &job.required},
                                      {"ReservationName", &job.reservation}}) {
      if (set.contains(key)) {
        *target = set[key];
      }
    }
    job.begin = set.contains("StartTime") ? time_of(set["StartTime"]) : job.begin;
    return std::string();
  }

  Result<std::string> put_reservation(std::map<std::string, std::string>& set, bool allowed) {
    const std::string name = set["ReservationName"];
    if (!allowed) {
      return Error{Errc::kInternal, "wrong reservation " + name};
    }
    SlurmReservation& one = reservations[name];
    one.name = name;
    one.start = set.contains("StartTime") ? time_of(set["StartTime"]) : one.start;
    one.end = set.contains("EndTime") ? time_of(set["EndTime"]) : one.end;
    one.nodes = set.contains("Nodes") ? place::expand_hostlist(set["Nodes"]).value() : one.nodes;
    if (set.contains("Users")) {
      one.users.clear();
      std::string rest = set["Users"] + ",";
      for (std::size_t at = 0; (at = rest.find(',')) != std::string::npos; rest.erase(0, at + 1)) {
        one.users.push_back(rest.substr(0, at));
      }
      std::sort(one.users.begin(), one.users.end());
    }
    return std::string();
  }

  std::vector<std::string> names_;
};

}  // namespace rudder::sched::testing_support

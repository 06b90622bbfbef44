// SPDX-License-Identifier: Apache-2.0
#include "sched/slurm_commands.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::sched {
namespace {

constexpr std::string_view kPrefix = "rudder-";

std::string reservation_start(const SlurmZone& zone, Time now) {
  return zone.start > now ? fmt::format("StartTime=uts{}", zone.start) : "StartTime=now";
}

}  // namespace

SlurmCommand update_job(JobId job, const SlurmSettings& settings) {
  SlurmCommand command{.words = {"scontrol", "update", fmt::format("JobId={}", job)}, .file = {}, .text = {}};
  for (const auto& [key, value] : settings) {
    command.words.push_back(key + "=" + value);
  }
  return command;
}

std::string earliest_start(const SlurmJob& job) {
  return job.restarts > 0 ? fmt::format("uts{}", job.submit + kRequeueRest) : "now";
}

SlurmCommand release_job(JobId job) {
  return {.words = {"scontrol", "release", std::to_string(job)}, .file = {}, .text = {}};
}

SlurmCommand hold_job(JobId job) {
  return {.words = {"scontrol", "uhold", std::to_string(job)}, .file = {}, .text = {}};
}

SlurmCommand requeue_job(JobId job) {
  return {.words = {"scontrol", "requeuehold", std::to_string(job)}, .file = {}, .text = {}};
}

SlurmCommand signal_job(JobId job) {
  return {.words = {"scancel", "--full", "--signal=TERM", std::to_string(job)}, .file = {}, .text = {}};
}

SlurmCommand delete_reservation(const std::string& name) {
  return {.words = {"scontrol", "delete", "ReservationName=" + name}, .file = {}, .text = {}};
}

SlurmCommand create_reservation(const SlurmZone& zone, Time now) {
  return {.words = {"scontrol", "create", "reservation", "ReservationName=" + zone.name,
                    reservation_start(zone, now), fmt::format("EndTime=uts{}", zone.end),
                    fmt::format("Nodes={}", fmt::join(zone.nodes, ",")),
                    fmt::format("Users={}", fmt::join(zone.users, ",")), "Flags=FLEX,IGNORE_JOBS,OVERLAP"},
          .file = {},
          .text = {}};
}

SlurmCommand update_reservation(const SlurmZone& zone, Time now) {
  SlurmCommand command{
      .words = {"scontrol", "update", "ReservationName=" + zone.name}, .file = {}, .text = {}};
  // The start of one that has begun cannot be moved.
  if (zone.start > now) {
    command.words.push_back(reservation_start(zone, now));
  }
  command.words.push_back(fmt::format("EndTime=uts{}", zone.end));
  command.words.push_back(fmt::format("Nodes={}", fmt::join(zone.nodes, ",")));
  command.words.push_back(fmt::format("Users={}", fmt::join(zone.users, ",")));
  return command;
}

SlurmCommand update_reservation_users(const std::string& name, const std::vector<std::string>& users) {
  return {.words = {"scontrol", "update", "ReservationName=" + name,
                    fmt::format("Users={}", fmt::join(users, ","))},
          .file = {},
          .text = {}};
}

std::string reservation_name(JobId job) {
  return fmt::format("{}{}", kPrefix, job);
}

JobId reservation_owner(std::string_view name) {
  if (!name.starts_with(kPrefix)) {
    return 0;
  }
  const std::optional<std::int64_t> job = parse_int(name.substr(kPrefix.size()));
  return job && *job > 0 && reservation_name(*job) == name ? *job : 0;
}

std::string SlurmCommand::describe() const {
  if (!file.empty()) {
    return fmt::format("write {} ({} lines)", file.string(), std::count(text.begin(), text.end(), '\n'));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
// squeue --json.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/place/hostlist.h"
#include "rudder/sched/slurm_state.h"

#include "place/json_document.h"

namespace rudder::sched {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kWhere = "squeue --json";
constexpr std::array<std::string_view, 34> kKeys = {
    "jobs",     "job_id",         "name",         "user_name",        "account",       "partition",
    "comment",  "admin_comment",  "job_state",    "state_reason",     "dependency",    "resv_name",
    "priority", "hold",           "requeue",      "array_job_id",     "het_job_id",    "node_count",
    "tasks",    "restart_cnt",    "submit_time",  "start_time",       "eligible_time", "time_limit",
    "nodes",    "required_nodes", "set",          "infinite",         "number",        "errors",
    "error",    "description",    "error_number", "array_task_string"};

Error bad(JobId job, std::string_view what) {
  return {Errc::kInvalidData, fmt::format("{}: job {}: {}", kWhere, job, what)};
}

/// A number as 22.05 writes it (null: none) or as newer versions do. Nothing: none or unlimited.
Result<std::optional<std::int64_t>> number_of(const Json& job, std::string_view key, JobId id) {
  const Json* value = place::member(job, key);
  if (value != nullptr && value->is_object()) {
    const Json* set = place::member(*value, "set");
    const Json* infinite = place::member(*value, "infinite");
    if ((set != nullptr && *set == false) || (infinite != nullptr && *infinite == true)) {
      return std::optional<std::int64_t>();
    }
    value = place::member(*value, "number");
  }
  if (value == nullptr || value->is_null()) {
    return std::optional<std::int64_t>();
  }
  if (!value->is_number_integer() ||
      (value->is_number_unsigned() && value->get<std::uint64_t>() > (1ULL << 53))) {
    return bad(id, fmt::format("\"{}\" is {}, not a number", key, value->dump().substr(0, 80)));
  }
  return std::optional<std::int64_t>(value->get<std::int64_t>());
}

Result<std::int64_t> bounded(const Json& job, std::string_view key, JobId id, std::int64_t most) {
  RUDDER_ASSIGN(const std::optional<std::int64_t> number, number_of(job, key, id));
  const std::int64_t value = number.value_or(0);
  if (value < 0 || value > most) {
    return bad(id, fmt::format("\"{}\" is {}, not in 0..{}", key, value, most));
  }
  return value;
}

std::vector<std::string> states_of(const Json& job) {
  std::vector<std::string> states;
  const Json* value = place::member(job, "job_state");
  if (value != nullptr && value->is_string()) {
    states.push_back(value->get<std::string>());
  } else if (value != nullptr && value->is_array()) {
    for (const Json& one : *value) {
      if (one.is_string()) {
        states.push_back(one.get<std::string>());
      }
    }
  }
  return states;
}

SlurmPhase phase_of(const std::vector<std::string>& states) {
  const auto is = [&](std::string_view name) {
    return std::find(states.begin(), states.end(), name) != states.end();
  };
  if (is("COMPLETING")) {
    return SlurmPhase::kCompleting;
  }
  for (const std::string_view name :
       {"RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}) {
    if (is(name)) {
      return SlurmPhase::kRunning;
    }
  }
  return is("PENDING") ? SlurmPhase::kPending : SlurmPhase::kEnded;
}

Status read_numbers(const Json& json, SlurmJob& job) {
  constexpr std::int64_t kMostNodes = std::int64_t{1} << 22;
  RUDDER_ASSIGN(const std::int64_t nodes, bounded(json, "node_count", job.id, kMostNodes));
  RUDDER_ASSIGN(const std::int64_t tasks, bounded(json, "tasks", job.id, std::int64_t{1} << 30));
  RUDDER_ASSIGN(const std::int64_t restarts, bounded(json, "restart_cnt", job.id, std::int64_t{1} << 30));
  RUDDER_ASSIGN(job.submit, bounded(json, "submit_time", job.id, kMaxTime));
  RUDDER_ASSIGN(job.start, bounded(json, "start_time", job.id, kMaxTime));
  RUDDER_ASSIGN(job.eligible, bounded(json, "eligible_time", job.id, kMaxTime));
  RUDDER_ASSIGN(const std::int64_t minutes, bounded(json, "time_limit", job.id, kMaxTime / 60));
  RUDDER_ASSIGN(const std::int64_t array, bounded(json, "array_job_id", job.id, std::int64_t{1} << 40));
  RUDDER_ASSIGN(const std::int64_t het, bounded(json, "het_job_id", job.id, std::int64_t{1} << 40));
  RUDDER_ASSIGN(const std::optional<std::int64_t> priority, number_of(json, "priority", job.id));
  job.nodes = static_cast<std::int32_t>(nodes);
  job.tasks = static_cast<std::int32_t>(tasks);
  job.restarts = static_cast<std::int32_t>(restarts);
  job.limit = minutes > 0 ? minutes * 60 : kNever;
  job.composite = array > 0 || het > 0;
  const Json* hold = place::member(json, "hold");
  job.held = (priority && *priority == 0) || (hold != nullptr && *hold == true);
  return {};
}

Result<SlurmJob> read_job(const Json& json, std::size_t position) {
  SlurmJob job;
  job.id = static_cast<JobId>(position);
  RUDDER_ASSIGN(const std::optional<std::int64_t> id, number_of(json, "job_id", job.id));
  if (!id || *id < 1 || *id > (std::int64_t{1} << 40)) {
    return Error{Errc::kInvalidData, fmt::format("{}: jobs[{}] has no \"job_id\"", kWhere, position)};
  }
  job.id = *id;
  const std::vector<std::string> states = states_of(json);
  if (states.empty()) {
    return bad(job.id, "has no \"job_state\"");
  }
  job.state = states.front();
  job.phase = phase_of(states);
  for (const auto& [key, target] : {std::pair<std::string_view, std::string*>{"name", &job.name},
                                    {"user_name", &job.user},
                                    {"account", &job.account},
                                    {"partition", &job.partition},
                                    {"comment", &job.comment},
                                    {"admin_comment", &job.admin_comment},
                                    {"state_reason", &job.reason},
                                    {"dependency", &job.dependency},
                                    {"resv_name", &job.reservation}}) {
    *target = place::text_member(json, key);
  }
  const Json* requeue = place::member(json, "requeue");
  job.requeue = requeue != nullptr && (*requeue == true || (requeue->is_number_integer() && *requeue == 1));
  RUDDER_TRY(read_numbers(json, job));
  if (job.phase == SlurmPhase::kRunning || job.phase == SlurmPhase::kCompleting) {
    Result<std::vector<std::string>> hosts = place::expand_hostlist(place::text_member(json, "nodes"));
    if (!hosts && !place::text_member(json, "nodes").empty()) {
      return bad(job.id, hosts.error().message);
    }
    job.hosts = hosts ? std::move(hosts).value() : std::vector<std::string>();
  }
  if (const std::string_view list = place::text_member(json, "required_nodes");
      !list.empty() && job.phase != SlurmPhase::kEnded) {
    Result<std::vector<std::string>> required = place::expand_hostlist(list);
    job.required = required ? std::move(required).value() : std::vector<std::string>();
  }
  return job;
}

/// Slurm answers some failures with exit code 0 and a list of errors.
Status check_errors(const Json& document) {
  const Json* errors = place::member(document, "errors");
  if (errors != nullptr && errors->is_array() && !errors->empty()) {
    return Error{Errc::kPeer, fmt::format("{}: {}", kWhere, errors->front().dump().substr(0, 200))};
  }
  return {};
}

}  // namespace

Result<std::vector<SlurmJob>> parse_squeue(std::string_view json) {
  RUDDER_ASSIGN(const Json document,
                place::parse_json(std::string(kWhere), json, {.keep = kKeys, .keep_whole = {}}));
  RUDDER_TRY(check_errors(document));
  const Json* list = place::member(document, "jobs");
  if (list == nullptr || !list->is_array()) {
    return Error{Errc::kInvalidData, fmt::format("{}: no array \"jobs\"", kWhere)};
  }
  std::vector<SlurmJob> jobs;
  jobs.reserve(list->size());
  for (const Json& one : *list) {
    RUDDER_ASSIGN(SlurmJob job, read_job(one, jobs.size()));
    jobs.push_back(std::move(job));
  }
  std::sort(jobs.begin(), jobs.end(), [](const SlurmJob& a, const SlurmJob& b) { return a.id < b.id; });
  const auto twice = std::adjacent_find(jobs.begin(), jobs.end(),
                                        [](const SlurmJob& a, const SlurmJob& b) { return a.id == b.id; });
  if (twice != jobs.end()) {
    return bad(twice->id, "occurs twice");
  }
  return jobs;
}

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
// Philly's cluster_job_log: an array of jobs with their attempts, hosts and GPUs.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/core/text.h"

#include "sched/raw_jobs.h"
#include "sched/text_table.h"

namespace rudder::sched {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kFileLimit = std::size_t{1} << 30;
constexpr int kMostDepth = 8;

Result<Json> parse_json(const std::string& path, const std::string& text) {
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMostDepth;
    return depth <= kMostDepth;
  };
  try {
    Json json = Json::parse(text, watch);
    if (too_deep) {
      return Error{Errc::kInvalidData, fmt::format("{}: nested deeper than {} levels", path, kMostDepth)};
    }
    return json;
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    const auto line = std::count(text.begin(), end, '\n') + 1;
    return Error{Errc::kInvalidData, fmt::format("{}:{}: not JSON: {}", path, line, printable(error.what()))};
  }
}

class JobLog {
 public:
  JobLog(std::string path, const TraceOptions& options) : path_(std::move(path)), options_(options) {}

  /// False: never ran.
  Result<bool> read(const Json& entry, std::size_t index, RawJob& job) {
    index_ = index;
    if (!entry.is_object()) {
      return bad("not an object:", entry);
    }
    for (const auto& [key, target] : {std::pair("jobid", &job.spec.name), std::pair("vc", &job.spec.queue),
                                      std::pair("user", &job.spec.user)}) {
      const auto found = entry.find(key);
      if (found == entry.end() || !found->is_string()) {
        return bad(fmt::format("no text under '{}':", key), entry);
      }
      *target = found->get<std::string>();
    }
    const auto attempts = entry.find("attempts");
    if (attempts == entry.end() || !attempts->is_array()) {
      return bad("no array 'attempts':", entry);
    }
    std::int64_t gpus = 0;
    std::int64_t hosts = 0;
    for (const Json& attempt : *attempts) {
      RUDDER_TRY(read_attempt(attempt, job, gpus, hosts));
    }
    if (gpus == 0 || job.duration == 0) {
      return false;
    }
    RUDDER_ASSIGN(job.spec.submit, time(entry, "submitted_time"));
    if (job.spec.submit == 0) {
      return bad("no 'submitted_time':", entry);
    }
    job.failed = entry.value("status", Json()) != "Pass";
    if (!shape(job.spec, gpus, hosts, options_)) {
      return bad("cannot spread GPUs of", entry);
    }
    return true;
  }

 private:
  Error bad(const std::string& what, const Json& value) const {
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return {Errc::kInvalidData,
            fmt::format("{}: record {}: {} '{}'", path_, index_, what, printable(text.substr(0, 80)))};
  }

  /// 0 for times that the log does not know ("None", null).
  Result<Time> time(const Json& entry, const char* key) const {
    const auto found = entry.find(key);
    if (found == entry.end() || found->is_null() || *found == "None" || *found == "") {
      return Time{0};
    }
    const auto value =
        found->is_string() ? parse_timestamp(found->get_ref<const std::string&>()) : std::nullopt;
    if (!value) {
      return bad(fmt::format("'{}' is not a time:", key), *found);
    }
    return *value;
  }

  Status read_attempt(const Json& attempt, RawJob& job, std::int64_t& gpus, std::int64_t& hosts) {
    if (!attempt.is_object()) {
      return bad("an attempt is not an object:", attempt);
    }
    RUDDER_ASSIGN(const Time start, time(attempt, "start_time"));
    RUDDER_ASSIGN(const Time end, time(attempt, "end_time"));
    if (start == 0 || end <= start) {
      return {};
    }
    const auto detail = attempt.find("detail");
    if (detail == attempt.end() || !detail->is_array()) {
      return bad("no array 'detail' in an attempt:", attempt);
    }
    std::int64_t count = 0;
    for (const Json& host : *detail) {
      const auto list = host.is_object() ? host.find("gpus") : host.end();
      if (!host.is_object() || list == host.end() || !list->is_array()) {
        return bad("no array 'gpus' of a host:", host);
      }
      count += static_cast<std::int64_t>(list->size());
    }
    // Attempts repeat the work; the largest tells the gang.
    if (count > gpus) {
      gpus = count;
      hosts = static_cast<std::int64_t>(detail->size());
    }
    job.duration += end - start;
    return {};
  }

  std::string path_;
  const TraceOptions& options_;
  std::size_t index_ = 0;
};

}  // namespace

Result<Trace> read_philly_json(const std::filesystem::path& path, const TraceOptions& options) {
  RUDDER_ASSIGN(const std::string text, read_text(path, kFileLimit));
  RUDDER_ASSIGN(const Json json, parse_json(path.string(), text));
  if (!json.is_array() || json.size() > kMaxTraceJobs) {
    return Error{Errc::kInvalidData,
                 fmt::format("{}: not an array of at most {} jobs", path.string(), kMaxTraceJobs)};
  }
  JobLog log(path.string(), options);
  std::vector<RawJob> jobs;
  std::int64_t skipped = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    RawJob job;
    RUDDER_ASSIGN(const bool kept, log.read(json[i], i, job));
    if (kept) {
      job.place = static_cast<std::int64_t>(i);
      jobs.push_back(std::move(job));
    } else {
      ++skipped;
    }
  }
  return finish_trace(std::move(jobs), skipped, true, options, {.name = path.string(), .has_lines = false});
}

}  // namespace rudder::sched

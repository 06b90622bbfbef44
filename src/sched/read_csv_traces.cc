// SPDX-License-Identifier: Apache-2.0
// Traces in comma-separated files with a header: Philly (as the Sia artefact converted it), Helios, Acme,
// ours.
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sched/raw_jobs.h"
#include "sched/text_table.h"

namespace rudder::sched {
namespace {

Result<Time> timestamp(const TextTable& table, std::string_view column) {
  const auto value = parse_timestamp(table.text(column));
  if (!value) {
    return table.bad(fmt::format("{} is not a time:", column), table.text(column));
  }
  return *value;
}

/// Reads row after row into jobs; `row` returns false for records to be skipped.
template <class Row>
Result<Trace> read_rows(TextTable table, const TraceOptions& options, bool dated,
                        const std::filesystem::path& path, Row row) {
  std::vector<RawJob> jobs;
  std::int64_t skipped = 0;
  while (true) {
    RUDDER_ASSIGN(const bool more, table.next());
    if (!more) {
      break;
    }
    RawJob job;
    RUDDER_ASSIGN(const bool kept, row(table, job));
    if (!kept) {
      ++skipped;
      continue;
    }
    if (jobs.size() == kMaxTraceJobs) {
      return table.bad("more jobs than", std::to_string(kMaxTraceJobs));
    }
    job.place = table.line();
    jobs.push_back(std::move(job));
  }
  return finish_trace(std::move(jobs), skipped, dated, options, {.name = path.string()});
}

Status set_shape(const TextTable& table, RawJob& job, std::int64_t gpus, std::int64_t nodes,
                 const TraceOptions& options) {
  if (!shape(job.spec, gpus, nodes, options)) {
    return table.bad("cannot spread GPUs", std::to_string(gpus));
  }
  return {};
}

/// Columns that Helios and Acme share.
Result<bool> read_published(const TextTable& table, RawJob& job, const TraceOptions& options) {
  RUDDER_ASSIGN(const std::int64_t gpus, table.integer("gpu_num", 0, kMostGpus, 0));
  RUDDER_ASSIGN(const std::int64_t nodes, table.integer("node_num", 0, kMostGpus, 0));
  RUDDER_ASSIGN(const double duration, table.real("duration", 0, static_cast<double>(kMaxTime), 0.0));
  RUDDER_ASSIGN(const std::int64_t cpus, table.integer("cpu_num", 0, kMostGpus, 0));
  if (gpus == 0 || duration <= 0 || table.text("start_time").empty() || table.text("start_time") == "None") {
    return false;
  }
  RUDDER_ASSIGN(job.spec.submit, timestamp(table, "submit_time"));
  job.spec.name = table.text("job_id");
  job.spec.user = table.text("user");
  job.spec.cpus = static_cast<std::int32_t>(cpus);
  job.duration = static_cast<Time>(std::ceil(duration));
  job.failed = table.text("state") != "COMPLETED";
  RUDDER_TRY(set_shape(table, job, gpus, nodes, options));
  return true;
}

Status read_own_policy(const TextTable& table, RawJob& job) {
  JobSpec& spec = job.spec;
  const auto limit = static_cast<std::int64_t>(kMaxTime);
  RUDDER_ASSIGN(const std::int64_t priority, table.integer("priority", -kMaxPriority, kMaxPriority, 0));
  RUDDER_ASSIGN(const std::int64_t preemptible, table.integer("preemptible", 0, 1, 0));
  RUDDER_ASSIGN(spec.arrival, table.integer("arrival", 0, limit, -1));
  RUDDER_ASSIGN(spec.min_runtime, table.integer("min_runtime", 0, limit, 0));
  RUDDER_ASSIGN(spec.checkpoint, table.integer("checkpoint", 0, limit, 0));
  RUDDER_ASSIGN(spec.restart, table.integer("restart", 0, limit, 0));
  RUDDER_ASSIGN(job.predicted, table.integer("predicted", 0, limit, 0));
  RUDDER_ASSIGN(const std::int64_t own_limit, table.integer("limit", 0, limit, 0));
  spec.priority = static_cast<std::int32_t>(priority);
  spec.preemptible = preemptible == 1;
  if (own_limit > 0) {
    spec.limit = own_limit;
    job.has_limit = true;
  }
  if (spec.planned() && spec.arrival < spec.submit) {
    return table.bad("arrival before the submission:", table.text("arrival"));
  }
  return {};
}

Status read_own_shape(const TextTable& table, RawJob& job, const TraceOptions& options) {
  JobSpec& spec = job.spec;
  RUDDER_ASSIGN(const std::int64_t nodes, table.integer("nodes", 1, kMostGpus));
  RUDDER_ASSIGN(const std::int64_t gpus, table.integer("gpus", 1, 1024, options.gpus_per_node));
  RUDDER_ASSIGN(const std::int64_t rows, table.integer("rows", 0, kMostGpus, 0));
  RUDDER_ASSIGN(const std::int64_t columns, table.integer("columns", 0, kMostGpus, 0));
  RUDDER_ASSIGN(spec.alpha, table.real("alpha", 0, 1, 0.5));
  if ((rows > 0 || columns > 0) && rows * columns != nodes) {
    return table.bad(fmt::format("{} nodes are no grid of {} x", nodes, rows), std::to_string(columns));
  }
  spec.nodes = static_cast<std::int32_t>(nodes);
  spec.gpus = static_cast<std::int32_t>(gpus);
  spec.grid = {.rows = static_cast<std::int32_t>(rows), .columns = static_cast<std::int32_t>(columns)};
  job.has_grid = true;
  return {};
}

}  // namespace

Result<Trace> read_philly(const std::filesystem::path& path, const TraceOptions& options) {
  RUDDER_ASSIGN(TextTable table, TextTable::open(path, ','));
  RUDDER_TRY(table.require({"timestamp", "duration", "num_gpus", "cluster"}));
  return read_rows(
      std::move(table), options, true, path, [&](const TextTable& row, RawJob& job) -> Result<bool> {
        RUDDER_ASSIGN(job.spec.submit, timestamp(row, "timestamp"));
        RUDDER_ASSIGN(const double duration, row.real("duration", 0, static_cast<double>(kMaxTime)));
        RUDDER_ASSIGN(const std::int64_t gpus, row.integer("num_gpus", 0, kMostGpus));
        if (gpus == 0 || duration <= 0) {
          return false;
        }
        // The file names no jobs: the line is the name.
        job.spec.name = std::to_string(row.line());
        job.spec.queue = row.text("cluster");
        job.duration = static_cast<Time>(std::ceil(duration));
        RUDDER_TRY(set_shape(row, job, gpus, 0, options));
        return true;
      });
}

Result<Trace> read_helios(const std::filesystem::path& path, const TraceOptions& options) {
  RUDDER_ASSIGN(TextTable table, TextTable::open(path, ','));
  RUDDER_TRY(table.require({"job_id", "user", "vc", "gpu_num", "submit_time", "start_time", "duration"}));
  return read_rows(std::move(table), options, true, path,
                   [&](const TextTable& row, RawJob& job) -> Result<bool> {
                     job.spec.queue = row.text("vc");
                     return read_published(row, job, options);
                   });
}

Result<Trace> read_acme(const std::filesystem::path& path, const TraceOptions& options) {
  RUDDER_ASSIGN(TextTable table, TextTable::open(path, ','));
  RUDDER_TRY(table.require({"job_id", "user", "gpu_num", "type", "submit_time", "start_time", "duration"}));
  return read_rows(std::move(table), options, true, path,
                   [&](const TextTable& row, RawJob& job) -> Result<bool> {
                     job.spec.queue = row.text("type");
                     return read_published(row, job, options);
                   });
}

Result<Trace> read_own_csv(const std::filesystem::path& path, const TraceOptions& options) {
  RUDDER_ASSIGN(TextTable table, TextTable::open(path, ','));
  RUDDER_TRY(table.require({"job", "submit", "duration", "nodes"}));
  static constexpr std::array<std::string_view, 18> kColumns = {
      "job",       "submit",   "duration", "nodes",       "gpus",        "limit",
      "predicted", "priority", "user",     "queue",       "preemptible", "arrival",
      "rows",      "columns",  "alpha",    "min_runtime", "checkpoint",  "restart"};
  RUDDER_TRY(table.check_names(kColumns));
  return read_rows(std::move(table), options, false, path,
                   [&](const TextTable& row, RawJob& job) -> Result<bool> {
                     const auto limit = static_cast<std::int64_t>(kMaxTime);
                     RUDDER_ASSIGN(job.spec.submit, row.integer("submit", 0, limit));
                     RUDDER_ASSIGN(job.duration, row.integer("duration", 1, limit));
                     job.spec.name = row.text("job");
                     job.spec.user = row.text("user");
                     job.spec.queue = row.text("queue");
                     RUDDER_TRY(read_own_policy(row, job));
                     RUDDER_TRY(read_own_shape(row, job, options));
                     return true;
                   });
}

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
// Slurm's accounting as `sacct --parsable2
// --format=JobID,User,Partition,Submit,Start,ElapsedRaw,NNodes,AllocTRES, TimelimitRaw,State` prints it.
// Steps ("12.batch") are parts of their job and left out.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"

#include "sched/raw_jobs.h"
#include "sched/text_table.h"

namespace rudder::sched {
namespace {

/// "cpu=16,mem=64G,gres/gpu=8,gres/gpu:h100=8" → 8 and "h100"; nothing when a count does not parse.
struct Tres {
  std::int64_t gpus = 0;
  std::int64_t cpus = 0;
  std::string gpu_type;
};

std::optional<Tres> parse_tres(std::string_view text) {
  Tres found;
  std::int64_t typed = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t equals = entry.find('=');
    const std::string_view key = entry.substr(0, equals);
    const bool gpu = key == "gres/gpu" || key.starts_with("gres/gpu:");
    if (!gpu && key != "cpu") {
      continue;
    }
    const auto count = equals == std::string_view::npos ? std::nullopt : parse_int(entry.substr(equals + 1));
    if (!count || *count < 0 || *count > kMostGpus) {
      return std::nullopt;
    }
    if (key == "cpu") {
      found.cpus = *count;
    } else if (key == "gres/gpu") {
      found.gpus = *count;
    } else {
      typed += *count;
      found.gpu_type = key.substr(std::string_view("gres/gpu:").size());
    }
  }
  found.gpus = std::max(found.gpus, typed);
  return found;
}

class SacctReader {
 public:
  SacctReader(TextTable table, const TraceOptions& options) : table_(std::move(table)), options_(options) {
    gpus_ = table_.has("AllocTRES") ? "AllocTRES" : "ReqTRES";
  }

  Status check_header() const {
    RUDDER_TRY(table_.require({"JobID", "Submit", "NNodes"}));
    if (!table_.has("AllocTRES") && !table_.has("ReqTRES")) {
      return table_.require({"AllocTRES"});
    }
    if (!table_.has("ElapsedRaw") && !table_.has("Elapsed")) {
      return table_.require({"ElapsedRaw"});
    }
    return {};
  }

  Result<Trace> read(const std::string& path) {
    std::vector<RawJob> jobs;
    std::int64_t skipped = 0;
    while (true) {
      RUDDER_ASSIGN(const bool more, table_.next());
      if (!more) {
        break;
      }
      if (table_.text("JobID").find('.') != std::string_view::npos) {
        continue;
      }
      RawJob job;
      RUDDER_ASSIGN(const bool kept, row(job));
      if (!kept) {
        ++skipped;
      } else if (jobs.size() == kMaxTraceJobs) {
        return table_.bad("more jobs than", std::to_string(kMaxTraceJobs));
      } else {
        job.place = table_.line();
        jobs.push_back(std::move(job));
      }
    }
    return finish_trace(std::move(jobs), skipped, true, options_, {.name = path});
  }

 private:
  Result<Time> elapsed() const {
    if (table_.has("ElapsedRaw")) {
      return table_.integer("ElapsedRaw", 0, kMaxTime, 0);
    }
    const auto value = parse_elapsed(table_.text("Elapsed"));
    if (!value) {
      return table_.bad("Elapsed is not a time span:", table_.text("Elapsed"));
    }
    return *value;
  }

  Status read_limit(RawJob& job) const {
    const std::string_view raw = table_.text("TimelimitRaw");
    const std::string_view clock = table_.text("Timelimit");
    const auto named = [](std::string_view text) {
      return text.empty() || text == "UNLIMITED" || text == "Partition_Limit";
    };
    std::optional<Time> limit;
    if (!named(raw)) {
      RUDDER_ASSIGN(const std::int64_t minutes, table_.integer("TimelimitRaw", 0, kMaxTime / 60));
      limit = minutes * 60;
    } else if (!named(clock)) {
      limit = parse_elapsed(clock);
      if (!limit) {
        return table_.bad("Timelimit is not a time span:", clock);
      }
    }
    if (limit && *limit > 0) {
      // Jobs run on a little after their limit before they are killed.
      job.spec.limit = std::max(*limit, job.duration);
      job.has_limit = true;
    }
    return {};
  }

  Result<bool> row(RawJob& job) const {
    const auto tres = parse_tres(table_.text(gpus_));
    if (!tres) {
      return table_.bad(fmt::format("{} does not parse:", gpus_), table_.text(gpus_));
    }
    RUDDER_ASSIGN(job.duration, elapsed());
    if (tres->gpus == 0 || job.duration == 0) {
      return false;
    }
    const auto submitted = parse_timestamp(table_.text("Submit"));
    if (!submitted) {
      return table_.bad("Submit is not a time:", table_.text("Submit"));
    }
    RUDDER_ASSIGN(const std::int64_t nodes, table_.integer("NNodes", 0, kMostGpus));
    if (!shape(job.spec, tres->gpus, nodes, options_)) {
      return table_.bad("cannot spread GPUs", std::to_string(tres->gpus));
    }
    job.spec.submit = *submitted;
    job.spec.name = table_.text("JobID");
    job.spec.user = table_.text("User");
    job.spec.queue = table_.has("Partition") ? table_.text("Partition") : table_.text("Account");
    job.spec.cpus = static_cast<std::int32_t>(tres->cpus);
    job.spec.gpu_type = tres->gpu_type;
    job.failed = !table_.text("State").starts_with("COMPLETED") && table_.has("State");
    RUDDER_TRY(read_limit(job));
    return true;
  }

  TextTable table_;
  const TraceOptions& options_;
  std::string_view gpus_;
};

}  // namespace

Result<Trace> read_sacct(const std::filesystem::path& path, const TraceOptions& options) {
  RUDDER_ASSIGN(TextTable table, TextTable::open(path, '|'));
  SacctReader reader(std::move(table), options);
  RUDDER_TRY(reader.check_header());
  return reader.read(path.string());
}

}  // namespace rudder::sched

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "rudder/cache/buffer_size.h"
#include "rudder/cache/trace.h"
#include "rudder/cache/trace_export.h"
#include "rudder/core/text.h"
#include "rudder/report/progress.h"
#include "rudder/report/table.h"
#include "rudder/sim/merge.h"
#include "rudder/sim/record.h"
#include "rudder/sim/replay.h"

#include "cli/command.h"
#include "cli/run_options.h"

namespace rudder::cli {
namespace {

class TraceRecord final : public Command {
 public:
  TraceRecord() {
    options().path("out", out_, "Trace file to write; required");
    add_schedule_options(options(), train_);
    options().integer<std::size_t>("threads", train_.threads, 1, 1024,
                                   "Sampling threads; never changes a trace");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("PARTITION", train_.partition, "Partition folder");
  }
  Result<int> run(const Program&) override {
    if (out_.empty()) {
      return Error{Errc::kInvalidArgument, "--out FILE is required"};
    }
    RUDDER_ASSIGN(const graph::PartitionedGraph graph, graph::PartitionedGraph::open(train_.partition));
    sim::RecordReport report;
    {
      report::Progress progress("record");
      RUDDER_ASSIGN(report,
                    sim::record_trace(graph,
                                      {.seed = train_.seed,
                                       .batch = train_.batch,
                                       .epochs = train_.epochs,
                                       .fanout = train_.fanout,
                                       .threads = train_.threads},
                                      out_, [&](double share) { progress.update(share, "sampling"); }));
    }
    if (json()) {
      print_json({{"ranks", graph.book().parts()},
                  {"steps", report.steps},
                  {"requests", report.requests},
                  {"file_bytes", report.file_bytes},
                  {"seconds", report.seconds}});
    } else {
      say(fmt::format("{} ranks x {} batches, {} remote rows asked for, {} ({:.2f} bytes a row), {:.1f} s",
                      graph.book().parts(), report.steps, report.requests,
                      human_bytes(static_cast<double>(report.file_bytes)),
                      static_cast<double>(report.file_bytes) /
                          static_cast<double>(std::max<std::uint64_t>(1, report.requests)),
                      report.seconds));
    }
    return 0;
  }

 private:
  std::filesystem::path out_;
  train::TrainOptions train_;
};

/// A buffer size as written, as a number: rows are whole, fractions are not.
Json size_number(const std::string& text) {
  const auto rows = parse_int(text);
  return rows ? Json(*rows) : Json(parse_double(text).value_or(0));
}

class TraceReplay final : public Command {
 public:
  TraceReplay() {
    options().text("policies", "NAMES", policies_, "Policies separated by commas, or all");
    options().text("buffer", "SIZES", buffers_,
                   "Buffer sizes separated by commas: fractions of the halo or rows");
    add_policy_settings(options(), settings_);
    options().integer<Rank>("trainers-per-host", trainers_per_host_, 1, 65536,
                            "Replay hosts whose trainers share a buffer, as with rudder serve");
    options().integer<std::size_t>("threads", threads_, 1, 1024, "Replays at a time");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override { arguments.one("FILE", file_, "Trace file"); }

  Result<int> run(const Program&) override {
    RUDDER_TRY(parse());
    RUDDER_ASSIGN(cache::Trace trace, cache::read_trace(file_));
    if (trainers_per_host_ > 1) {
      RUDDER_ASSIGN(trace, sim::merge_hosts(trace, trainers_per_host_));
    }
    RUDDER_ASSIGN(const std::vector<sim::ReplayRow> rows, replay(trace));
    print(rows);
    return 0;
  }

 private:
  Status parse() {
    for (const std::string& text : split_list(buffers_)) {
      RUDDER_ASSIGN(const cache::BufferSize size, cache::parse_buffer_size(text));
      sizes_.push_back(size);
    }
    if (policies_ == "all") {
      for (const cache::PolicyInfo& info : cache::policy_table()) {
        chosen_.push_back(&info);
      }
      return {};
    }
    for (const std::string& name : split_list(policies_)) {
      RUDDER_ASSIGN(const cache::PolicyInfo* info, cache::find_policy(name));
      chosen_.push_back(info);
    }
    return {};
  }

  Result<std::vector<sim::ReplayRow>> replay(const cache::Trace& trace) const {
    report::Progress progress("replay");
    const auto total = static_cast<double>(chosen_.size() * sizes_.size());
    double done = 0;
    return sim::replay_all(trace, chosen_, settings_, sizes_, threads_, [&](const sim::ReplayRow& row) {
      done += 1;
      progress.update(done / total, row.policy);
    });
  }

  void print(const std::vector<sim::ReplayRow>& rows) const {
    Json list = Json::array();
    report::TextTable table(
        {"policy", "buffer", "slots", "requests", "hits", "fetched", "bypassed", "/ none", "/ min"});
    for (const sim::ReplayRow& row : rows) {
      const double to_none = row.ratio_to_none();
      const double to_min = row.ratio_to_min().value_or(0);
      list.push_back({{"policy", row.policy},
                      {"buffer", size_number(row.buffer)},
                      {"slots", row.slots},
                      {"requests", row.counts.requests},
                      {"hits", row.counts.hits},
                      {"fetched", row.counts.fetched},
                      {"bypassed", row.counts.bypassed},
                      {"ratio_to_none", to_none},
                      {"ratio_to_min", to_min}});
      table.add({row.policy, row.buffer, std::to_string(row.slots), std::to_string(row.counts.requests),
                 std::to_string(row.counts.hits), std::to_string(row.counts.fetched),
                 std::to_string(row.counts.bypassed), fmt::format("{:.3f}", to_none),
                 fmt::format("{:.3f}", to_min)});
    }
    if (json()) {
      print_json({{"rows", std::move(list)}});
    } else {
      say(table.text());
    }
  }

  std::filesystem::path file_;
  std::string policies_ = "all";
  std::string buffers_ = "0.05,0.1,0.25,0.5";
  cache::PolicySettings settings_;
  Rank trainers_per_host_ = 1;
  std::size_t threads_ = 1;
  std::vector<cache::BufferSize> sizes_;
  std::vector<const cache::PolicyInfo*> chosen_;
};

class TraceExport final : public Command {
 public:
  TraceExport() {
    options().choice("format", format_, {"oracle-general", "csv"},
                     "oracle-general: one rank as libCacheSim reads it; csv: rank,step,row");
    options().integer<Rank>("rank", rank_, 0, 65535, "oracle-general: which rank");
    options().path("out", out_, "File to write; required");
  }
  void add_arguments(Arguments& arguments) override { arguments.one("FILE", file_, "Trace file"); }
  Result<int> run(const Program&) override {
    if (out_.empty()) {
      return Error{Errc::kInvalidArgument, "--out FILE is required"};
    }
    RUDDER_ASSIGN(const cache::Trace trace, cache::read_trace(file_));
    if (format_ == "csv") {
      RUDDER_TRY(cache::export_csv(trace, out_));
    } else {
      RUDDER_TRY(cache::export_oracle_general(trace, rank_, out_));
    }
    return 0;
  }

 private:
  std::filesystem::path file_;
  std::filesystem::path out_;
  std::string format_ = "oracle-general";
  Rank rank_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_trace_record() {
  return std::make_unique<TraceRecord>();
}
std::unique_ptr<Command> make_trace_replay() {
  return std::make_unique<TraceReplay>();
}
std::unique_ptr<Command> make_trace_export() {
  return std::make_unique<TraceExport>();
}

}  // namespace rudder::cli

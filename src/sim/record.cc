// SPDX-License-Identifier: Apache-2.0
#include "rudder/sim/record.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "rudder/cache/trace.h"
#include "rudder/core/clock.h"
#include "rudder/graph/vip.h"
#include "rudder/sample/schedule.h"
#include "rudder/sample/stream.h"

namespace rudder::sim {
namespace {

constexpr double kPatienceSeconds = 600;  // for one batch; sampling waits for nobody

Result<sample::Schedule> make_schedule(const graph::PartitionedGraph& graph, const RecordOptions& options) {
  std::vector<std::span<const NodeId>> train;
  for (PartId part = 0; part < graph.book().parts(); ++part) {
    train.push_back(graph.train(part));
  }
  return sample::Schedule::create(options.seed, options.batch, std::move(train));
}

cache::TraceHeader make_header(const graph::PartitionedGraph& graph, const sample::Schedule& schedule,
                               const RecordOptions& options) {
  const graph::CscView topology = graph.topology();
  cache::TraceHeader header;
  header.partition_digest = graph.digest();
  header.seed = options.seed;
  header.nodes = topology.nodes();
  header.row_bytes = narrow<std::uint32_t>(graph.row_bytes());
  header.epochs = options.epochs;
  header.steps_per_epoch = schedule.steps_per_epoch();
  header.batch = narrow<std::uint32_t>(options.batch);
  header.fanout = options.fanout;
  header.part_offsets.assign(graph.book().offsets().begin(), graph.book().offsets().end());
  header.indptr.assign(topology.indptr.begin(), topology.indptr.end());
  for (PartId part = 0; part < graph.book().parts(); ++part) {
    header.halo.push_back(graph::halo_of(graph.slice(part), graph.meta().nodes));
    header.vip.push_back(
        graph::inclusion_probability(topology, graph.train(part), options.batch, options.fanout));
  }
  return header;
}

}  // namespace

Status write_trace(const graph::PartitionedGraph& graph, const RecordOptions& options,
                   const std::vector<std::vector<std::vector<NodeId>>>& accesses,
                   const std::filesystem::path& out) {
  RUDDER_ASSIGN(const sample::Schedule schedule, make_schedule(graph, options));
  RUDDER_ASSIGN(cache::TraceWriter writer,
                cache::TraceWriter::create(out, make_header(graph, schedule, options)));
  for (std::size_t rank = 0; rank < accesses.size(); ++rank) {
    for (std::size_t step = 0; step < accesses[rank].size(); ++step) {
      RUDDER_TRY(writer.append(narrow<Rank>(rank), step, accesses[rank][step]));
    }
  }
  return writer.commit();
}

Result<RecordReport> record_trace(const graph::PartitionedGraph& graph, const RecordOptions& options,
                                  const std::filesystem::path& out,
                                  const std::function<void(double)>& progress) {
  const TimePoint started = steady_clock().now();
  const Rank ranks = graph.book().parts();
  RUDDER_ASSIGN(const sample::Schedule schedule, make_schedule(graph, options));
  RUDDER_ASSIGN(cache::TraceWriter writer,
                cache::TraceWriter::create(out, make_header(graph, schedule, options)));
  RecordReport report;
  report.steps = std::uint64_t{options.epochs} * schedule.steps_per_epoch();
  std::vector<NodeId> remote;
  for (Rank rank = 0; rank < ranks; ++rank) {
    sample::SampleStream stream(graph.topology(), schedule,
                                {.rank = rank,
                                 .epochs = options.epochs,
                                 .fanout = options.fanout,
                                 .threads = options.threads,
                                 .ahead = 2 * options.threads + 2});
    for (StepId step = 0; step < stream.total(); ++step) {
      RUDDER_ASSIGN(const sample::SampledBatch batch,
                    stream.next(Deadline::in(from_seconds(kPatienceSeconds))));
      remote.clear();
      std::copy_if(batch.nodes.begin(), batch.nodes.end(), std::back_inserter(remote),
                   [&](NodeId node) { return !graph.book().owns(rank, node); });
      std::sort(remote.begin(), remote.end());
      RUDDER_TRY(writer.append(rank, step, remote));
      report.requests += remote.size();
      if (progress) {
        progress((static_cast<double>(rank) +
                  static_cast<double>(step + 1) / static_cast<double>(stream.total())) /
                 ranks);
      }
    }
  }
  RUDDER_TRY(writer.commit());
  std::error_code ignored;
  report.file_bytes = std::filesystem::file_size(out, ignored);
  report.seconds = to_seconds(steady_clock().now() - started);
  return report;
}

}  // namespace rudder::sim

// SPDX-License-Identifier: Apache-2.0
// Sampled edges a second of one core's time, beside what this machine's memory allows for the same batches.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "rudder/core/rng.h"
#include "rudder/sample/sampler.h"
#include "rudder/sample/stream.h"

#include "bench_graph.h"
#include "sample/id_map.h"
#include "thread_time.h"

namespace rudder::bench {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::size_t kBatches = 40;

/// Distinct nodes drawn from the whole graph, enough for all batches.
std::vector<NodeId> draw_seeds(const graph::CscView& topology) {
  std::vector<NodeId> nodes(static_cast<std::size_t>(topology.nodes()));
  std::iota(nodes.begin(), nodes.end(), 0);
  CounterRng rng{3};
  const std::size_t wanted = std::min(kBatch * kBatches, nodes.size() / kBatch * kBatch);
  for (std::size_t i = 0; i < wanted; ++i) {
    std::swap(nodes[i], nodes[i + rng.below(nodes.size() - i)]);
  }
  nodes.resize(wanted);
  return nodes;
}

/// The places that sampling one batch must read, whatever the algorithm: degrees of the destinations, the
/// drawn entries of `indices`, and a word a drawn node to find its local id.
struct Accesses {
  std::vector<NodeId> destinations;
  std::vector<EdgeIndex> positions;
  std::vector<NodeId> drawn;
};

void record(const graph::CscView& topology, const sample::SampledBatch& batch, Accesses& accesses) {
  for (auto layer = batch.layers.rbegin(); layer != batch.layers.rend(); ++layer) {
    for (LocalId d = 0; d < layer->destinations; ++d) {
      const NodeId node = batch.nodes[d];
      const std::span<const NodeId> neighbors = topology.neighbors(node);
      accesses.destinations.push_back(node);
      for (std::uint32_t i = layer->indptr[d]; i < layer->indptr[d + 1]; ++i) {
        const NodeId drawn = batch.nodes[layer->indices[i]];
        const auto place = std::lower_bound(neighbors.begin(), neighbors.end(), drawn) - neighbors.begin();
        accesses.positions.push_back(topology.indptr[static_cast<std::size_t>(node)] + place);
        accesses.drawn.push_back(drawn);
      }
    }
  }
}

/// Reads data[places[i]] for all i, prefetched; the addresses depend on nothing that is read.
template <class T, class Place>
std::uint64_t read_all(const T* data, const std::vector<Place>& places) {
  constexpr std::size_t kAhead = 40;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) {
      __builtin_prefetch(data + places[i + kAhead]);
    }
    sum += static_cast<std::uint64_t>(data[places[i]]);
  }
  return sum;
}

/// Seconds a pass over the batches takes that does nothing but read those places; the best of five.
double memory_seconds(const graph::CscView& topology, const std::vector<Accesses>& batches) {
  const sample::ZeroedWords map(static_cast<std::size_t>(topology.nodes()));
  std::uint64_t sum = 0;
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = thread_seconds();
    for (const Accesses& accesses : batches) {
      sum += read_all(topology.indptr.data(), accesses.destinations);
      sum += read_all(topology.indices.data(), accesses.positions);
      sum += read_all(map.data(), accesses.drawn);
    }
    best = std::min(best, thread_seconds() - start);
  }
  benchmark::DoNotOptimize(sum);
  return best;
}

/// One iteration is a pass over all batches. Counters: edges/s, milliseconds a batch, and the share of the
/// memory limit, which is measured right after.
void sample_batches(benchmark::State& state, const std::vector<int>& fanout) {
  if (!BenchGraph::shared().ok()) {
    state.SkipWithError(BenchGraph::shared().error().message.c_str());
    return;
  }
  const graph::CscView topology = BenchGraph::shared()->topology();
  const std::vector<NodeId> seeds = draw_seeds(topology);
  const std::size_t batches = seeds.size() / kBatch;
  sample::NeighborSampler sampler(topology, fanout, 1);
  sample::SampledBatch batch;
  std::vector<Accesses> accesses(batches);
  std::size_t edges = 0;
  for (std::size_t i = 0; i < batches; ++i) {
    sampler.sample(std::span(seeds).subspan(i * kBatch, kBatch), {}, i, batch);
    record(topology, batch, accesses[i]);
    edges += accesses[i].drawn.size();
  }
  double best = 1e9;
  for (auto _ : state) {
    const double start = thread_seconds();
    for (std::size_t i = 0; i < batches; ++i) {
      sampler.sample(std::span(seeds).subspan(i * kBatch, kBatch), {}, i, batch);
      benchmark::DoNotOptimize(batch.nodes.data());
    }
    best = std::min(best, thread_seconds() - start);
  }
  const double limit = memory_seconds(topology, accesses);
  state.counters["edges/s"] = static_cast<double>(edges) / best;
  state.counters["limit_edges/s"] = static_cast<double>(edges) / limit;
  state.counters["of_limit"] = limit / best;
  state.counters["ms/batch"] = best / static_cast<double>(batches) * 1e3;
  state.counters["edges/batch"] = static_cast<double>(edges) / static_cast<double>(batches);
}

/// The same through the stream: what several threads deliver in order to one consumer.
void stream_batches(benchmark::State& state, std::size_t threads) {
  if (!BenchGraph::shared().ok()) {
    state.SkipWithError(BenchGraph::shared().error().message.c_str());
    return;
  }
  const graph::CscView topology = BenchGraph::shared()->topology();
  const std::vector<NodeId> train = draw_seeds(topology);
  const Result<sample::Schedule> schedule = sample::Schedule::create(1, kBatch, {train});
  sample::StreamOptions options;
  options.fanout = {10, 25};
  options.threads = threads;
  options.epochs = 2;
  std::size_t edges = 0;
  for (auto _ : state) {
    sample::SampleStream stream(topology, *schedule, options);
    for (std::uint64_t step = 0; step < stream.total(); ++step) {
      Result<sample::SampledBatch> batch = stream.next(Deadline::in(std::chrono::minutes(1)));
      if (!batch.ok()) {
        state.SkipWithError(batch.error().message.c_str());
        return;
      }
      for (const sample::Mfg& layer : batch->layers) {
        edges += layer.indices.size();
      }
      stream.recycle(std::move(batch).value());
    }
  }
  state.counters["edges/s"] = benchmark::Counter(static_cast<double>(edges), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(sample_batches, hops_10_25, std::vector<int>{10, 25})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sample_batches, hops_15_10_5, std::vector<int>{15, 10, 5})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(stream_batches, threads_0, 0U)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(stream_batches, threads_1, 1U)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(stream_batches, threads_2, 2U)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace rudder::bench

// SPDX-License-Identifier: Apache-2.0
// What deciding costs without a model: searching a full memory, adding to it, opening it, and choosing by a
// trained classifier. Goals: a search of 100,000 windows well within a window of 8 batches of 50 ms; a
// classifier's choice in microseconds.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/steer/classifier.h"
#include "rudder/steer/memory.h"

namespace rudder::steer {
namespace {

/// A window as runs leave them behind: with a report and a decision that has a reason.
Experience drawn(const ActionSet& actions, std::uint64_t seed) {
  CounterRng rng({seed});
  Experience experience;
  experience.run = "run" + std::to_string(seed % 64);
  experience.graph = "graph" + std::to_string(seed % 8);
  experience.action_set = actions.key();
  experience.sequence = seed;
  for (float& feature : experience.features) {
    feature = static_cast<float>(rng.unit());
  }
  experience.best = experience.features[0] + experience.features[1] > 1 ? 0 : 1;
  experience.costs = {1 + static_cast<double>(experience.best), 2 - static_cast<double>(experience.best)};
  experience.report.sequence = seed;
  experience.report.action = "skip";
  experience.decision = Decision{.sequence = seed, .action = 1, .reason = std::string(150, 'r')};
  experience.observed = Expected{};
  return experience;
}

/// A store of so many windows, made once for all runs of the benchmark.
class Filled {
 public:
  explicit Filled(std::uint64_t count) {
    memory = Memory::open(path).value();
    for (std::uint64_t i = 0; i < count; ++i) {
      RUDDER_CHECK(memory->add(drawn(actions, i)).ok(), "added");
    }
  }
  static Filled& of(std::uint64_t count) {
    static Filled small(1'000);
    static Filled large(100'000);
    return count == 1'000 ? small : large;
  }

  ActionSet actions = replace_actions();
  TemporaryDirectory folder = TemporaryDirectory::create("rudder-bench").value();
  std::filesystem::path path = folder.path() / "store";
  std::unique_ptr<Memory> memory;
};

void search(benchmark::State& state) {
  const Filled& store = Filled::of(static_cast<std::uint64_t>(state.range(0)));
  std::uint64_t question = 0;
  for (auto _ : state) {
    const auto found =
        store.memory->nearest(store.actions, drawn(store.actions, ++question << 32).features, 5);
    RUDDER_CHECK(found.ok() && found->size() == 5, "found");
  }
}
BENCHMARK(search)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void open(benchmark::State& state) {
  const Filled& store = Filled::of(static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    RUDDER_CHECK(Memory::open(store.path).ok(), "opened");
  }
  state.counters["bytes"] = static_cast<double>(std::filesystem::file_size(store.path));
}
BENCHMARK(open)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// To a full store: the oldest goes.
void add(benchmark::State& state) {
  const Filled& store = Filled::of(100'000);
  std::uint64_t next = 1'000'000;
  for (auto _ : state) {
    RUDDER_CHECK(store.memory->add(drawn(store.actions, ++next)).ok(), "added");
  }
}
BENCHMARK(add)->Unit(benchmark::kMicrosecond);

void choose(benchmark::State& state, const char* kind) {
  const ActionSet actions = replace_actions();
  std::vector<Experience> all;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    all.push_back(drawn(actions, i));
  }
  ClassifierOptions options;
  options.kind = kind;
  const auto trained = train_classifier(all, actions, options);
  RUDDER_CHECK(trained.ok(), "trained");
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(trained->classifier.choose(all[++i % all.size()].features));
  }
}
BENCHMARK_CAPTURE(choose, lr, "lr");
BENCHMARK_CAPTURE(choose, svm, "svm");
BENCHMARK_CAPTURE(choose, mlp, "mlp");
BENCHMARK_CAPTURE(choose, rf, "rf");
BENCHMARK_CAPTURE(choose, xgb, "xgb");

}  // namespace
}  // namespace rudder::steer

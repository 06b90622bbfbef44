// SPDX-License-Identifier: Apache-2.0
#include "train/same_run.h"

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rudder::train {
namespace {

/// "--batch 64", a line each. Not here: what each rank may have of its own, as its buffer, its threads, its
/// folders.
std::vector<std::string> common_options(const TrainOptions& options) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view name, const auto& value) {
    lines.push_back(fmt::format("--{} {}", name, value));
  };
  add("model", options.model);
  add("hidden", options.hidden);
  add("heads", options.heads);
  add("fanout", fmt::format("{}", fmt::join(options.fanout, ",")));
  add("batch", options.batch);
  add("accumulate", options.accumulate);
  add("epochs", options.epochs);
  add("learning-rate", options.learning_rate);
  add("schedule", options.schedule);
  add("warmup-steps", options.warmup_steps);
  add("weight-decay", options.weight_decay);
  add("clip-norm", options.clip_norm);
  add("dropout", options.dropout);
  add("autocast", options.autocast);
  add("seed", options.seed);
  add("topology", options.topology);
  add("wire", options.wire);
  add("no-evaluation", !options.evaluate);
  add("evaluate-every", options.evaluate_every);
  add("patience", options.patience);
  add("min-delta", options.min_delta);
  add("checkpoint-steps", options.checkpoint_steps);
  add("resume", options.resume);
  add("agent", options.steering.agent.empty() ? "not given" : "given");
  add("trace", options.record_accesses ? "given" : "not given");
  return lines;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Every rank's options, in rank order.
Status compare(const std::vector<std::string>& all) {
  const std::vector<std::string> first = lines_of(all.front());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<std::string> theirs = lines_of(all[rank]);
    if (theirs.size() != first.size()) {
      return Error{Errc::kPeer, fmt::format("rank {} is of another version than rank 0", rank)};
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (theirs[i] != first[i]) {
        return Error{Errc::kPeer,
                     fmt::format("rank {} has {} and rank 0 {}: all ranks of a run need the same", rank,
                                 theirs[i], first[i])};
      }
    }
  }
  return {};
}

}  // namespace

Status ensure_same_run(const TrainOptions& options, const RankInfo& who, transport::Rendezvous& rendezvous,
                       Deadline deadline) {
  const std::string mine = fmt::format("{}", fmt::join(common_options(options), "\n"));
  RUDDER_ASSIGN(const auto all,
                transport::exchange(rendezvous, "options", who.rank, who.world, mine, deadline));
  const Status same = compare(all);
  if (!same.ok()) {
    // All find the same. Rank 0's store must not go before the others have read it.
    static_cast<void>(transport::part(rendezvous, "options-differ", who.rank, who.world, deadline));
  }
  return same;
}

}  // namespace rudder::train

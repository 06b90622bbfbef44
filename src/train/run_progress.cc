// SPDX-License-Identifier: Apache-2.0
#include "train/run_progress.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/log.h"
#include "rudder/core/sha256.h"

namespace rudder::train {
namespace {

/// Everything that a loss or the choice of the best epoch depends on.
std::string identity_of(const TrainOptions& options, const RankInfo& who,
                        const graph::PartitionedGraph& graph) {
  nlohmann::ordered_json identity = {{"graph", graph.graph_digest()},
                                     {"partition", graph.digest()},
                                     {"ranks", who.world},
                                     {"model", options.model},
                                     {"hidden", options.hidden},
                                     {"heads", options.heads},
                                     {"fanout", options.fanout},
                                     {"batch", options.batch},
                                     {"accumulate", options.accumulate},
                                     {"seed", options.seed},
                                     {"dropout", options.dropout},
                                     {"autocast", options.autocast},
                                     {"learning-rate", options.learning_rate},
                                     {"schedule", options.schedule},
                                     {"warmup-steps", options.warmup_steps},
                                     {"weight-decay", options.weight_decay},
                                     {"clip-norm", options.clip_norm},
                                     {"evaluate-every", options.epochs_between_evaluations()},
                                     {"min-delta", options.min_delta}};
  if (options.wire != "stored" && options.wire != name_of(graph.meta().dtype)) {
    identity["wire"] = options.wire;
  }
  if (options.schedule != "constant") {
    identity["epochs"] = options.epochs;  // where a falling rate ends
  }
  return identity.dump();
}

/// Values of one rank on all: the others' are zeros, whose integer sum keeps every bit.
Status broadcast(Collective& collective, std::vector<std::uint64_t>& words) {
  if (collective.rank() != 0) {
    std::ranges::fill(words, 0);
  }
  return collective.sum(std::span<std::uint64_t>(words));
}

Status broadcast(Collective& collective, std::vector<float>& values) {
  std::vector<std::uint64_t> words((values.size() + 1) / 2);
  std::memcpy(words.data(), values.data(), values.size() * sizeof(float));
  RUDDER_TRY(broadcast(collective, words));
  std::memcpy(values.data(), words.data(), values.size() * sizeof(float));
  return {};
}

/// Rank 0's status on every rank, its message cut to what a line holds.
Status agree(Collective& collective, const Status& mine) {
  constexpr std::size_t kWords = 128;
  std::vector<std::uint64_t> words(2 + kWords);
  if (!mine.ok()) {
    const std::string& text = mine.error().message;
    words[0] = std::min(text.size(), kWords * sizeof(std::uint64_t));
    words[1] = static_cast<std::uint64_t>(mine.error().code);
    std::memcpy(&words[2], text.data(), words[0]);
  }
  RUDDER_TRY(broadcast(collective, words));
  if (words[0] == 0) {
    return {};
  }
  return Error{static_cast<Errc>(words[1]), std::string(reinterpret_cast<const char*>(&words[2]), words[0])};
}

}  // namespace

RunProgress::RunProgress(const TrainOptions& options, const RankInfo& who,
                         const graph::PartitionedGraph& graph, StepGroups groups)
    : options_(options),
      who_(who),
      groups_(groups),
      total_(std::uint64_t{options.epochs} * groups.steps_per_epoch()) {
  state_.identity = identity_of(options, who, graph);
}

Status RunProgress::open() {
  if (!options_.checkpoint_directory.empty() && who_.rank == 0) {
    RUDDER_ASSIGN(writer_, CheckpointWriter::open(options_.checkpoint_directory, options_.checkpoint_keep,
                                                  !options_.resume));
  }
  return {};
}

Result<bool> RunProgress::read_newest() {
  RUDDER_ASSIGN(std::optional<Checkpoint> newest, load_checkpoint(options_.checkpoint_directory));
  const std::string folder = options_.checkpoint_directory.string();
  if (!newest) {
    log_info(fmt::format("{}: no checkpoint; starting from the beginning", folder));
    return false;
  }
  if (const std::string other = identity_difference(newest->identity, state_.identity); !other.empty()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: the checkpoint is of another run: {}", folder, other)};
  }
  const std::uint64_t finished = newest->next_step / groups_.steps_per_epoch();
  if (newest->next_step > total_ || newest->losses.size() != newest->next_step ||
      newest->epochs.size() != finished || (newest->best && newest->best->epoch >= finished)) {
    return Error{
        Errc::kInvalidData,
        fmt::format("{}: the checkpoint is at step {} with {} losses and {} epochs; the run has {} steps, {} "
                    "an epoch",
                    folder, newest->next_step, newest->losses.size(), newest->epochs.size(), total_,
                    groups_.steps_per_epoch())};
  }
  state_ = std::move(*newest);
  log_info(fmt::format("{}: going on at step {} of {}", folder, state_.next_step, total_));
  return true;
}

Status RunProgress::resume(Collective& collective, Learner& learner) {
  if (!options_.resume) {
    return {};
  }
  state_.learner = learner.state();  // gives the arrays their sizes on every rank
  const std::size_t parameters = state_.learner.parameters.size();
  Status mine;
  bool found = false;
  if (who_.rank == 0) {
    const Result<bool> read = read_newest();
    mine = read.ok() ? Status() : read.error();
    found = read.ok() && *read;
    if (mine.ok() && state_.learner.parameters.size() != parameters) {
      mine = Error{Errc::kInvalidData, fmt::format("{}: the checkpoint has {} parameters, the model {}",
                                                   options_.checkpoint_directory.string(),
                                                   state_.learner.parameters.size(), parameters)};
    }
  }
  RUDDER_TRY(agree(collective, mine));
  RUDDER_TRY(share(collective, found));
  RUDDER_TRY(learner.restore(state_.learner));
  state_.learner = {};
  return {};
}

Status RunProgress::share(Collective& collective, bool found) {
  const BestEpoch best = state_.best.value_or(BestEpoch{});
  std::vector<std::uint64_t> position = {found ? state_.next_step : 0,
                                         state_.learner.updates,
                                         std::bit_cast<std::uint64_t>(state_.epoch_loss),
                                         std::uint64_t{state_.best.has_value()},
                                         best.epoch,
                                         std::bit_cast<std::uint64_t>(best.accuracy)};
  RUDDER_TRY(broadcast(collective, position));
  state_.next_step = position[0];
  state_.learner.updates = position[1];
  state_.epoch_loss = std::bit_cast<double>(position[2]);
  for (std::vector<float>* array :
       {&state_.learner.parameters, &state_.learner.mean, &state_.learner.square}) {
    RUDDER_TRY(broadcast(collective, *array));
  }
  if (position[3] != 0) {
    if (!state_.best) {
      state_.best = BestEpoch{.epoch = static_cast<std::uint32_t>(position[4]),
                              .accuracy = std::bit_cast<double>(position[5])};
      state_.best->parameters.resize(state_.learner.parameters.size());
    }
    RUDDER_TRY(broadcast(collective, state_.best->parameters));
  }
  return {};
}

void RunProgress::finish_step(float loss, float global_loss, const Learner& learner) {
  state_.losses.push_back(loss);
  state_.epoch_loss += static_cast<double>(global_loss);
  ++state_.next_step;
  const bool last = step_in_epoch() == 0;
  if (last) {
    last_epoch_loss_ = std::exchange(state_.epoch_loss, 0);
  } else if (options_.checkpoint_steps > 0 && state_.next_step % options_.checkpoint_steps == 0) {
    save(learner);
  }
}

bool RunProgress::evaluates() const noexcept {
  const std::uint32_t every = options_.epochs_between_evaluations();
  return every > 0 && epoch() > 0 && step_in_epoch() == 0 && epoch() % every == 0;
}

bool RunProgress::out_of_patience() const noexcept {
  return options_.patience > 0 && evaluates() && state_.best &&
         epoch() - 1 - state_.best->epoch >= options_.patience;
}

void RunProgress::take_best(Learner& learner) const {
  if (options_.patience > 0 && state_.best) {
    std::ranges::copy(state_.best->parameters, learner.parameters().begin());
  }
}

void RunProgress::finish_epoch(const EpochResult& result, const Learner& learner) {
  state_.epochs.push_back(result);
  if (result.val_accuracy &&
      (!state_.best || *result.val_accuracy > state_.best->accuracy + options_.min_delta)) {
    state_.best = BestEpoch{result.epoch, *result.val_accuracy, learner.state().parameters};
  }
  if (options_.checkpoint_steps == 0 || done() || state_.next_step % options_.checkpoint_steps == 0) {
    save(learner);
  }
}

void RunProgress::save(const Learner& learner) {
  if (writer_) {
    Checkpoint checkpoint = state_;
    checkpoint.learner = learner.state();
    writer_->submit(std::move(checkpoint));
  }
}

void RunProgress::report(TrainResult& result) {
  Sha256 digest;
  digest.update(std::as_bytes(std::span(state_.losses)));
  result.loss_digest = digest.hex();
  result.step_losses.assign(state_.losses.begin(), state_.losses.end());
  result.epochs = state_.epochs;
  if (state_.best) {
    result.best_epoch = state_.best->epoch;
    result.best_val_accuracy = state_.best->accuracy;
  }
  result.stopped_early = out_of_patience() && state_.next_step < total_;
  if (const Status written = writer_ ? writer_->finish() : Status(); !written.ok()) {
    result.checkpoint_failure = written.error().message;
  }
}

}  // namespace rudder::train

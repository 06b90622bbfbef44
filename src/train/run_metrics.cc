// SPDX-License-Identifier: Apache-2.0
#include "train/run_metrics.h"

#include <chrono>
#include <string>

namespace rudder::train {
namespace {

metrics::Labels rank_label(Rank rank) {
  return {{"rank", std::to_string(rank)}};
}
metrics::Labels policy_labels(Rank rank, const TrainOptions& options) {
  return {{"rank", std::to_string(rank)}, {"policy", options.policy}};
}

}  // namespace

LearningRate learning_rate_of(const TrainOptions& options, std::uint64_t steps_per_epoch) {
  return {.peak = options.learning_rate,
          .schedule = options.schedule,
          .warmup_steps = options.warmup_steps,
          .total_steps = steps_per_epoch * options.epochs};
}

RunMetrics::RunMetrics(metrics::Registry& registry, const TrainOptions& options, Rank rank,
                       std::uint64_t steps_per_epoch)
    : rate_(learning_rate_of(options, steps_per_epoch)),
      requests_(registry.counter("rudder_rows_requested_total", "Remote rows that batches asked for",
                                 policy_labels(rank, options))),
      hits_(registry.counter("rudder_rows_hit_total", "Remote rows found in the buffer",
                             policy_labels(rank, options))),
      fetched_(registry.counter("rudder_rows_fetched_total",
                                "Remote rows moved over the network for batches, fills included",
                                policy_labels(rank, options))),
      bypassed_(registry.counter("rudder_rows_bypassed_total", "Fetched rows that the buffer did not keep",
                                 policy_labels(rank, options))),
      payload_bytes_(registry.counter("rudder_batch_payload_bytes_total", "Bytes of rows moved for batches",
                                      rank_label(rank))),
      wire_bytes_(registry.counter("rudder_batch_wire_bytes_total",
                                   "Bytes of requests and answers moved for batches", rank_label(rank))),
      messages_(registry.counter("rudder_batch_messages_total", "Requests and answers moved for batches",
                                 rank_label(rank))),
      compute_(registry.seconds("rudder_compute_seconds_total",
                                "Time of steps in forward, backward and optimizer", rank_label(rank))),
      all_reduce_(registry.seconds("rudder_all_reduce_seconds_total",
                                   "Time of steps in waiting for and averaging gradients", rank_label(rank))),
      stall_(registry.seconds("rudder_stall_seconds_total", "Time of steps in waiting for the batch",
                              rank_label(rank))),
      step_loss_(registry.gauge("rudder_step_loss", "Loss of the last step, mean over the global batch",
                                rank_label(rank))),
      epoch_loss_(
          registry.gauge("rudder_epoch_loss", "Mean loss of the last finished epoch", rank_label(rank))),
      learning_rate_(registry.gauge("rudder_learning_rate", "Of the last step", rank_label(rank))),
      step_time_(registry.gauge("rudder_last_step_timestamp_seconds",
                                "Wall clock at the end of the last step, since 1970", rank_label(rank))),
      epochs_(registry.counter("rudder_epochs_total", "Epochs finished", rank_label(rank))),
      steps_(registry.counter("rudder_steps_total", "Steps finished", rank_label(rank))) {
  registry.gauge("rudder_run_epochs", "Epochs of the whole run", rank_label(rank)).set(options.epochs);
  registry.gauge("rudder_run_steps", "Steps of the whole run", rank_label(rank))
      .set(static_cast<double>(options.epochs * steps_per_epoch));
}

void RunMetrics::step_done(std::uint64_t step, const cache::Counts& counts, const dataplane::Transfer& moved,
                           const metrics::StepTimes& times, double loss) noexcept {
  requests_.add(counts.requests);
  hits_.add(counts.hits);
  fetched_.add(counts.fetched);
  bypassed_.add(counts.bypassed);
  payload_bytes_.add(moved.payload_bytes);
  wire_bytes_.add(moved.wire_bytes);
  messages_.add(moved.messages);
  compute_.add(times.compute);
  all_reduce_.add(times.all_reduce);
  stall_.add(times.stall);
  step_loss_.set(loss);
  learning_rate_.set(rate_at(rate_, step));
  step_time_.set(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  steps_.add();
}

void RunMetrics::epoch_done(const EpochResult& result) noexcept {
  epoch_loss_.set(result.loss);
  epochs_.add();
}

}  // namespace rudder::train

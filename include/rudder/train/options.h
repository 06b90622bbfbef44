// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rudder/cache/policy.h"
#include "rudder/core/ids.h"
#include "rudder/core/secret.h"
#include "rudder/llm/endpoint.h"
#include "rudder/metrics/registry.h"

namespace rudder::train {

/// Who this process is in the run, and how to find the others.
struct RankInfo {
  Rank rank = 0;
  Rank world = 1;
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;  ///< 0 with world 1 only
  std::string host;               ///< for messages
  Secret secret = {};             ///< of the run, the same for all ranks; not used with world 1
};

/// Who steers the rank's buffer while it trains, and how.
struct SteeringOptions {
  std::string agent;                 ///< a decider as steer/decider.h names it; empty: nobody steers
  std::string actions = "replace";   ///< replace, knobs
  std::string mode = "async";        ///< async, sync: whether the planner waits for decisions
  std::string priority = "idle";     ///< idle, usual: of the threads that steer asynchronously
  std::uint32_t window = 16;         ///< batches between two of them
  std::uint32_t horizon = 4;         ///< windows that an action is charged for
  std::string trigger = "windows";   ///< windows, time, shift: what calls for a decision
  std::uint32_t every = 1;           ///< windows: between two questions
  double period_seconds = 1;         ///< time: between two questions
  llm::ModelAddress model;           ///< of a decider that asks one; its time is that of a decision
  double rest_seconds = 5;           ///< of a decider that fails again and again
  std::string language = "en";       ///< of prompts
  std::uint32_t demonstrations = 5;  ///< labelled windows in a prompt
  std::filesystem::path memory;      ///< labelled windows of this and other runs; empty: of this run alone
  std::filesystem::path classifier;
  /// Values of knobs, the first of each being the one to start from; empty: the run's own, and of depths also
  /// 1 and twice as many.
  std::vector<std::string> policies;
  std::vector<int> depths;
  std::vector<double> megabytes_per_second;  ///< of rows fetched ahead of need; 0: no limit
  std::vector<double> slot_shares;
};

struct TrainOptions {
  std::filesystem::path partition;  ///< partition folder; parts must equal world
  std::string model = "sage";       ///< sage, gcn, gat
  std::size_t hidden = 128;
  std::size_t heads = 4;  ///< gat: heads of hidden layers; hidden is per layer, divided among heads
  std::vector<int> fanout = {25, 10};  ///< hops from the seeds outwards; its length is the number of layers
  std::size_t batch = 512;             ///< seeds a step of each rank
  std::uint32_t accumulate = 1;        ///< batches an optimizer step learns from
  std::uint32_t epochs = 5;
  double learning_rate = 0.003;       ///< the highest of the run
  std::string schedule = "constant";  ///< of the learning rate: constant, cosine, linear
  std::uint64_t warmup_steps = 0;     ///< optimizer steps in which the learning rate grows linearly
  double weight_decay = 0;            ///< AdamW's
  double clip_norm = 0;               ///< largest norm of the gradient; 0: no limit
  double dropout = 0.5;
  std::string autocast = "none";  ///< none, or bf16 for the products of matrices in training
  std::uint64_t seed = 1;
  std::size_t threads = 1;  ///< of sampling, and of compute kernels; never changes a result
  std::uint32_t depth = 4;
  std::string policy = "lookahead";
  cache::PolicySettings settings;
  std::string buffer = "0.25";
  SteeringOptions steering;
  std::filesystem::path attach;  ///< socket of the host's service; empty: a buffer of the rank's own
  /// replicated: every rank opens the whole structure; owner: that of its part, and asks the other ranks.
  std::string topology = "replicated";
  std::string features =
      "mapped";  ///< the part's: mapped (read from the file as needed), loaded (into memory)
  /// Type of features between ranks and in the buffer: as they are stored, or, for f32, f16 or bf16.
  std::string wire = "stored";
  std::string transport = "ucx";    ///< ucx, or loopback (all ranks as threads of this process)
  double link_bits_per_second = 0;  ///< token-bucket link; 0: none
  double deadline_seconds = 10;
  bool evaluate = true;  ///< at the end
  std::uint32_t evaluate_every =
      0;                         ///< epochs between evaluations in training; 0: 1 with patience, else none
  std::uint32_t patience = 0;    ///< epochs without a better validation accuracy that end the run; 0: none do
  double min_delta = 0;          ///< a better one exceeds the best so far by more than this
  bool record_accesses = false;  ///< fill TrainResult::accesses
  std::filesystem::path run_directory;         ///< gets metrics.jsonl, a line an epoch; empty: none
  std::filesystem::path checkpoint_directory;  ///< rank 0 writes checkpoints there; empty: none
  std::uint64_t checkpoint_steps = 0;    ///< optimizer steps between checkpoints; 0: one after each epoch
  std::size_t checkpoint_keep = 3;       ///< newest ones kept
  metrics::Registry* figures = nullptr;  ///< gets figures while the run goes on; null: none
  /// Hears of each finished step on rank 0, on the training thread: steps done and steps of the run, the
  /// global loss. May be empty.
  std::function<void(std::uint64_t, std::uint64_t, double)> on_step = nullptr;
  /// Called in each rank's thread when all ranks have met and the first step comes next: from here on a stop
  /// that is asked for is seen within a step.
  std::function<void()> on_begin = nullptr;
  bool resume = false;  ///< go on from the newest checkpoint; from the start when there is none

  /// 0: nothing is evaluated before the end.
  [[nodiscard]] std::uint32_t epochs_between_evaluations() const noexcept {
    return evaluate_every > 0 || patience == 0 ? evaluate_every : 1;
  }
};

/// One epoch, summed over all ranks but for the times: those of the rank that stalled longest, whose parts
/// add up.
struct EpochResult {
  std::uint32_t epoch = 0;
  /// Mean over the epoch's optimizer steps of the mean loss over their labelled seeds on all ranks.
  double loss = 0;
  double seconds = 0, compute_seconds = 0, all_reduce_seconds = 0, stall_seconds = 0;
  std::uint64_t requests = 0, hits = 0, fetched = 0, payload_bytes = 0, wire_bytes = 0, messages = 0;
  /// Moved for structure that other ranks hold (topology owner), beside the rows above: nodes asked about,
  /// frames of both directions and their bytes.
  std::uint64_t sampling_nodes = 0, sampling_bytes = 0, sampling_messages = 0;
  double evaluation_seconds = 0;  ///< after the epoch on rank 0, in none of the times above
  std::optional<double> val_accuracy = std::nullopt;  ///< after the epoch, when it was measured
};

struct RankCounts {
  std::uint64_t requests = 0, hits = 0, fetched = 0, bypassed = 0;
};

/// By how much the features that moved differ from those stored.
struct WireError {
  std::string type;  ///< as they moved
  double largest_absolute = 0, largest_relative = 0, root_mean_square = 0;
};

/// What steering did, over all ranks.
struct SteeringResult {
  std::string agent, actions, mode;
  std::uint32_t window = 0;      ///< batches
  std::uint64_t windows = 0;     ///< finished
  std::uint64_t dropped = 0;     ///< of those: not decided on, because steering fell behind
  std::uint64_t replayed = 0;    ///< whose counts were compared with their replay
  std::uint64_t mismatches = 0;  ///< of those: not equal
  std::uint64_t changes = 0;     ///< of live settings, replacements included
  std::uint64_t overtaken = 0;   ///< settled and replaced by something newer before it held
  std::uint64_t late = 0;        ///< settled when the run had no border left
  std::uint64_t decisions = 0, applied = 0, rejected = 0;
  std::uint64_t model_calls = 0, valid_replies = 0;
  std::uint64_t no_answers = 0;  ///< windows
  std::uint64_t breaker_openings = 0;
  std::uint64_t predictions = 0, right_directions = 0;
  std::uint64_t staleness_windows = 0;       ///< summed over decisions
  std::uint64_t memory_errors = 0;           ///< windows that the memory refused
  double latency_p50 = 0, latency_p95 = 0;   ///< seconds, of the rank whose decisions took longest
  double wait_seconds = 0;                   ///< of planners, with mode sync
  double seconds = 0, replayed_seconds = 0;  ///< of the replayed windows: measured, by the cost model
};

struct TrainResult {
  std::string policy;
  Rank world = 1;
  std::vector<EpochResult> epochs;
  std::vector<RankCounts> by_rank;     ///< whole run
  std::vector<double> step_losses;     ///< mean over rank 0's labelled seeds of an optimizer step, 0 if none
  std::vector<double> step_hit_rates;  ///< rank 0's hits / requests a step (1 when nothing was requested)
  /// Distinct remote rows by rank and step, on rank 0 and only when asked for (1-2 bytes a row travel at the
  /// end).
  std::vector<std::vector<std::vector<NodeId>>> accesses;
  bool stopped = false;  ///< asked to stop, and a checkpoint was written: the rest is of the part before
  std::string checkpoint_failure;  ///< why the last checkpoint could not be written; empty: it was
  bool evaluated = false;          ///< whether the accuracies were measured
  /// What all accuracies are: "accuracy", the share of nodes whose class is found, or in multi-label graphs
  /// "micro_f1", 2 tp / (2 tp + fp + fn) over all nodes and classes.
  std::string metric = "accuracy";
  double val_accuracy = 0, test_accuracy = 0;
  /// Of the epochs evaluated in training the last one that exceeded the best one before it by more than
  /// min_delta. With patience the model and its accuracies are those after this epoch.
  std::optional<std::uint32_t> best_epoch = std::nullopt;
  double best_val_accuracy = 0;
  bool stopped_early = false;        ///< out of patience
  std::string loss_digest;           ///< SHA-256 over the IEEE bits (f32) of step_losses
  std::string model_digest;          ///< SHA-256 over the final parameters: equal on all ranks
  std::uint64_t peak_rss_bytes = 0;  ///< largest of all ranks
  WireError wire;
  std::optional<SteeringResult> steering = std::nullopt;
  std::string blas;  ///< kernels in use
};

}  // namespace rudder::train

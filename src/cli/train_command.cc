// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/graph/partition.h"
#include "rudder/launch/rank_env.h"
#include "rudder/report/progress.h"
#include "rudder/sim/record.h"
#include "rudder/train/blas.h"

#include "cli/command.h"
#include "cli/metrics_option.h"
#include "cli/run_options.h"
#include "cli/run_result.h"
#include "cli/trainer.h"

namespace rudder::cli {
namespace {

// Signal handlers reach nothing but globals.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void request_stop(int) {
  stop_requested.store(true, std::memory_order_relaxed);
}

class Train final : public Command {
 public:
  Train() {
    options().choice("policy", train_.policy, policy_names(true), "What the buffer of remote rows keeps");
    add_buffer_option(options(), train_.buffer);
    add_schedule_options(options(), train_);
    add_model_options(options(), train_);
    options().choice("autocast", train_.autocast, {"none", "bf16"},
                     "bf16: products of matrices in training take bf16 factors; all else stays f32");
    options().integer<std::uint32_t>("accumulate", train_.accumulate, 1, 1'000'000,
                                     "Batches whose gradients make one optimizer step; steps count these");
    add_policy_settings(options(), train_.settings);
    add_pipeline_options(options(), train_);
    options().choice(
        "topology", train_.topology, {"replicated", "owner"},
        "replicated: every rank holds the whole structure; owner: its part's, and asks the other "
        "ranks for neighbours of their nodes");
    options().choice(
        "features", train_.features, {"mapped", "loaded"},
        "Own features: mapped, read from their file as needed, however large; or loaded into memory");
    options().choice(
        "wire", train_.wire, {"stored", "f32", "f16", "bf16"},
        "Type of features between ranks and in the buffer: as stored, or f32 ones as f16 or bf16");
    options().choice("transport", train_.transport, {"ucx", "loopback"},
                     "ucx: one process a rank; loopback: all ranks as threads of this process");
    add_link_option(
        options(), link_, train_.link_bits_per_second,
        "Token-bucket limit of this rank's data-plane link, each way (gradients are not limited by it)");
    options().path(
        "attach", train_.attach,
        "Socket of this host's rudder serve, whose buffer, policy and depth are used instead of own ones");
    add_steering_options(options(), train_.steering);
    options().integer<std::uint32_t>(
        "evaluate-every", train_.evaluate_every, 0, 1'000'000,
        "Epochs between evaluations on the validation nodes; 0: 1 with --patience, else none before the end");
    options().integer<std::uint32_t>(
        "patience", train_.patience, 0, 1'000'000,
        "Epochs without a better validation accuracy that end the run, with the best model; 0: none do");
    options().real("min-delta", train_.min_delta, 0, 1,
                   "A better validation accuracy exceeds the best so far by more than this");
    options().toggle("no-evaluation", skip_evaluation_, "Do not compute validation and test accuracy");
    options().path("run", train_.run_directory, "Run folder: run.json, metrics.jsonl, result.json");
    options().path(
        "checkpoint", train_.checkpoint_directory,
        "Folder for checkpoints; with one, SIGTERM and SIGINT in training end the run with one and code 0");
    options().integer<std::uint64_t>("checkpoint-steps", train_.checkpoint_steps, 0, std::uint64_t{1} << 40,
                                     "Optimizer steps between checkpoints; 0: one after each epoch");
    options().integer<std::size_t>("checkpoint-keep", train_.checkpoint_keep, 1, 1'000'000,
                                   "Newest checkpoints to keep");
    options().toggle("resume", train_.resume,
                     "Go on from the newest checkpoint, bit for bit; from the start when there is none");
    options().path("trace", trace_, "Write the run's accesses as a trace file, on rank 0");
    options().text("host", "NAME", host_, "This host's name in messages");
    metrics_.add_to(options());
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("PARTITION", train_.partition, "Partition folder, one part a rank");
  }

  Result<int> run(const Program& program) override {
    RUDDER_ASSIGN(trainer_, find_trainer(program));
    RUDDER_TRY(check_options());
    RUDDER_ASSIGN(const launch::RankEnvironment environment, launch::rank_from_environment());
    RUDDER_ASSIGN(const train::RankInfo who, find_rank(environment));
    if (!trace_.empty() && who.rank == 0) {
      // Says before the training when the trace could not be written after it.
      RUDDER_TRY(AtomicFile::create(trace_));
    }
    RUDDER_ASSIGN(const std::uint32_t local, launch::local_rank(environment));
    RUDDER_ASSIGN(const std::unique_ptr<metrics::Exporter> exporter,
                  metrics_.start(local, train::blas_kernels()));
    train_.figures = metrics_.registry();
    train_.evaluate = !skip_evaluation_;
    train_.record_accesses = !trace_.empty();
    if (!train_.run_directory.empty() && who.rank == 0) {
      RUDDER_TRY(make_directories(train_.run_directory));
      RUDDER_TRY(write_run_description(train_.run_directory, program, options(), train::blas_kernels()));
    }
    const auto trained = train_and_show(who);
    if (!trained.ok()) {
      return trained.error();
    }
    if (who.rank != 0) {
      return 0;
    }
    RUDDER_TRY(write_files(trained.value()));
    report(trained.value());
    return trained.value().checkpoint_failure.empty() ? 0 : 1;
  }

 private:
  Status check_options() const {
    if (train_.resume && train_.checkpoint_directory.empty()) {
      return Error{Errc::kInvalidArgument, "--resume needs --checkpoint DIR"};
    }
    if (train_.resume && !trace_.empty()) {
      return Error{Errc::kInvalidArgument, "--trace holds whole runs; it does not go with --resume"};
    }
    if (train_.patience > 0 && !trace_.empty()) {
      return Error{Errc::kInvalidArgument, "--trace holds whole runs; it does not go with --patience"};
    }
    if (train_.topology == "owner" && !trace_.empty()) {
      return Error{Errc::kInvalidArgument,
                   "--trace holds what only the whole structure tells, which --topology owner does not open; "
                   "rudder trace record writes the same trace"};
    }
    RUDDER_TRY(check_attach());
    return check_agent();
  }

  Status check_agent() const {
    if (train_.steering.agent.empty()) {
      for (const char* key :
           {"actions", "steer-window", "steer-mode", "steer-priority", "steer-horizon", "agent-socket",
            "agent-url", "agent-model", "agent-timeout", "agent-rest", "prompt-language", "memory",
            "classifier", "knob-policies", "knob-depths", "knob-rates", "knob-slots"}) {
        if (options().origin(key) != "default") {
          return Error{Errc::kInvalidArgument, fmt::format("--{} needs --agent DECIDER", key)};
        }
      }
      return {};
    }
    if (!train_.attach.empty()) {
      return Error{Errc::kInvalidArgument,
                   "--agent steers a buffer of the rank's own; the service's does not go with it (--attach)"};
    }
    const Status made = trainer_->check_steering(train_);
    return made.ok() ? Status() : Status(made.error().in("--agent " + train_.steering.agent));
  }

  Result<train::RankInfo> find_rank(const launch::RankEnvironment& environment) const {
    RUDDER_ASSIGN(train::RankInfo who, rank_info(environment, host_, train_.transport == "loopback"));
    if (train_.transport == "loopback" && environment.world == 1) {
      RUDDER_ASSIGN(const graph::PartitionedGraph graph,
                    train_.topology == "owner" ? graph::PartitionedGraph::open_own(train_.partition, 0)
                                               : graph::PartitionedGraph::open(train_.partition));
      who.world = graph.book().parts();
    }
    return who;
  }

  /// The training, with its progress and its epochs on the terminal. Signals stop it between steps; before
  /// the first one they end the process, which may be waiting for ranks that never come.
  Result<train::TrainResult> train_and_show(const train::RankInfo& who) {
    train_.on_begin = [] {
      std::signal(SIGTERM, request_stop);
      std::signal(SIGINT, request_stop);
    };
    report::Progress progress("train");
    train_.on_step = [&](std::uint64_t done, std::uint64_t total, double loss) {
      progress.update(static_cast<double>(done) / static_cast<double>(total),
                      fmt::format("step {} of {}, loss {:.4f}", done, total, loss));
    };
    const auto listener = [&](const train::EpochResult& epoch) {
      progress.note(fmt::format(
          "epoch {}: loss {:.4f}, {:.3f} s (compute {:.3f}, all-reduce {:.3f}, stall {:.3f}), hits {} of {}, "
          "fetched {}{}",
          epoch.epoch, epoch.loss, epoch.seconds, epoch.compute_seconds, epoch.all_reduce_seconds,
          epoch.stall_seconds, epoch.hits, epoch.requests, epoch.fetched,
          epoch.val_accuracy ? fmt::format("; validation {:.4f}", *epoch.val_accuracy) : ""));
    };
    return trainer_->train(train_, who, listener, &stop_requested);
  }

  Status write_files(const train::TrainResult& result) const {
    if (!train_.run_directory.empty()) {
      RUDDER_TRY(write_run_result(train_.run_directory, result));
    }
    return result.stopped || trace_.empty() ? Status() : write_trace(result);
  }

  void report(const train::TrainResult& result) const {
    if (result.stopped) {
      say(fmt::format("stopped after {} steps; --resume goes on from there", result.step_losses.size()));
    }
    const std::string metric = result.metric == "micro_f1" ? "micro-F1" : result.metric;
    if (result.best_epoch) {
      say(fmt::format("{}best epoch {}, with validation {} {:.4f}",
                      result.stopped_early ? "out of patience; " : "", *result.best_epoch, metric,
                      result.best_val_accuracy));
    }
    if (result.steering) {
      say(steering_text(*result.steering));
    }
    if (!result.checkpoint_failure.empty()) {
      say("rudder: the last checkpoint could not be written: " + result.checkpoint_failure);
    }
    if (json()) {
      print_json(train_json(result));
    } else {
      say(result.evaluated
              ? fmt::format("validation {0} {1:.4f}, test {0} {2:.4f}, loss digest {3:.16}", metric,
                            result.val_accuracy, result.test_accuracy, result.loss_digest)
              : fmt::format("not evaluated; loss digest {:.16}", result.loss_digest));
    }
  }

  /// What the host's service decides cannot be asked for here.
  Status check_attach() const {
    if (train_.attach.empty()) {
      return options().origin("attach") == "default"
                 ? Status()
                 : Status(Error{Errc::kInvalidArgument, "--attach needs the path of the service's socket"});
    }
    for (const char* key : {"policy", "buffer", "depth", "look-ahead", "score-period", "score-stale-after",
                            "score-alpha", "score-init"}) {
      if (options().origin(key) != "default") {
        return Error{Errc::kInvalidArgument,
                     fmt::format("--{} is the service's: give it to rudder serve, not with --attach", key)};
      }
    }
    if (train_.wire != "stored") {
      return Error{Errc::kInvalidArgument,
                   "--wire is for buffers of a rank's own; it does not go with --attach"};
    }
    return train_.transport == "loopback"
               ? Status(Error{Errc::kInvalidArgument,
                              "--attach needs one process a rank, not --transport loopback"})
               : Status();
  }

  Status write_trace(const train::TrainResult& result) const {
    RUDDER_ASSIGN(const graph::PartitionedGraph graph, graph::PartitionedGraph::open(train_.partition));
    return sim::write_trace(graph,
                            {.seed = train_.seed,
                             .batch = train_.batch,
                             .epochs = train_.epochs,
                             .fanout = train_.fanout,
                             .threads = train_.threads},
                            result.accesses, trace_);
  }

  const Trainer* trainer_ = nullptr;
  train::TrainOptions train_;
  std::filesystem::path trace_;
  std::string link_ = "none";
  std::string host_ = host_name();
  bool skip_evaluation_ = false;
  MetricsOption metrics_;
};

}  // namespace

std::unique_ptr<Command> make_train() {
  return std::make_unique<Train>();
}

}  // namespace rudder::cli

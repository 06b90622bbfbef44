// SPDX-License-Identifier: Apache-2.0
#include "train/rank_run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "rudder/cache/buffer_size.h"
#include "rudder/core/files.h"
#include "rudder/core/machine.h"
#include "rudder/dataplane/attach.h"
#include "rudder/dataplane/feed.h"
#include "rudder/metrics/json_lines.h"
#include "rudder/metrics/step_times.h"
#include "rudder/train/blas.h"
#include "rudder/train/result_fields.h"

#include "train/access_record.h"
#include "train/collective.h"
#include "train/evaluate.h"
#include "train/labelled_seeds.h"
#include "train/learner.h"
#include "train/run_metrics.h"
#include "train/run_progress.h"
#include "train/run_totals.h"
#include "train/same_run.h"
#include "train/steering.h"
#include "train/step_groups.h"
#include "train/stepper.h"
#include "train/structure_access.h"

namespace rudder::train {
namespace {

Result<sample::Schedule> make_schedule(const graph::PartitionedGraph& graph, const TrainOptions& options) {
  std::vector<std::span<const NodeId>> train;
  for (PartId p = 0; p < graph.book().parts(); ++p) {
    train.push_back(graph.train(p));
  }
  return sample::Schedule::create(options.seed, options.batch, std::move(train));
}

std::string to_json(const EpochResult& epoch) {
  nlohmann::ordered_json object;
  for_each_field(epoch, [&](const char* name, const auto& field) { put_field(object[name], field); });
  return object.dump();
}

class RankRun {
 public:
  explicit RankRun(const RankSetting& setting)
      : options_(setting.options),
        who_(setting.who),
        graph_(setting.graph),
        setting_(setting),
        deadline_(from_seconds(setting.options.deadline_seconds)) {}
  ~RankRun() {
    if (steering_) {
      steering_->stop();  // the buffer's planner may be waiting for it
    }
  }
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;

  Result<TrainResult> run(std::unique_ptr<transport::Transport> transport) {
    const Status done = run_inside(std::move(transport));
    if (!done.ok()) {
      setting_.rendezvous.fail(done.error());
      return explain(done.error());
    }
    return std::move(result_);
  }

 private:
  Status run_inside(std::unique_ptr<transport::Transport> transport) {
    RUDDER_TRY(open());
    RUDDER_TRY(meet(std::move(transport)));
    RUDDER_TRY(progress_->resume(*collective_, *learner_));
    RUDDER_TRY(start_feed());
    RUDDER_TRY(count_labels());
    stepper_.emplace(StepSetting{.options = options_,
                                 .graph = graph_,
                                 .part = *part_,
                                 .seeds = *seeds_,
                                 .learner = *learner_,
                                 .collective = *collective_,
                                 .progress = *progress_,
                                 .structure = *structure_,
                                 .steering = steering_.get(),
                                 .stop = setting_.stop});
    if (options_.on_begin) {
      options_.on_begin();
    }
    while (!progress_->done() && !stepper_->stopped()) {
      RUDDER_TRY(train_epoch());
    }
    return finish();
  }

  /// What needs no other rank.
  Status open() {
    RUDDER_ASSIGN(part_,
                  graph_.open_part(who_.rank, options_.features == "loaded" ? graph::FeatureMemory::kLoaded
                                                                            : graph::FeatureMemory::kMapped));
    RUDDER_ASSIGN(schedule_, make_schedule(graph_, options_));
    groups_ = {.batches = schedule_->steps_per_epoch(), .group = options_.accumulate};
    LearnerOptions learning{.model = options_.model,
                            .features = graph_.meta().features,
                            .hidden = options_.hidden,
                            .classes = static_cast<std::size_t>(graph_.meta().classes),
                            .multi_label = graph_.meta().multi_label,
                            .layers = options_.fanout.size(),
                            .heads = options_.heads,
                            .learning_rate = learning_rate_of(options_, groups_.steps_per_epoch()),
                            .weight_decay = options_.weight_decay,
                            .clip_norm = options_.clip_norm,
                            .dropout = options_.dropout,
                            .precision = options_.autocast == "bf16" ? Precision::kBf16 : Precision::kF32,
                            .seed = options_.seed,
                            .threads = options_.threads};
    RUDDER_ASSIGN(learner_, Learner::create(learning));
    progress_.emplace(options_, who_, graph_, groups_);
    if (options_.figures != nullptr) {
      figures_.emplace(*options_.figures, options_, who_.rank, groups_.steps_per_epoch());
    }
    RUDDER_TRY(progress_->open());
    if (!options_.run_directory.empty() && who_.rank == 0) {
      RUDDER_TRY(make_directories(options_.run_directory));
      RUDDER_ASSIGN(metrics_,
                    metrics::JsonLines::open(options_.run_directory / "metrics.jsonl", options_.resume));
    }
    return {};
  }

  Status meet(std::unique_ptr<transport::Transport> transport) {
    RUDDER_TRY(ensure_same_run(options_, who_, setting_.rendezvous, Deadline::in(deadline_)));
    dataplane::PlaneOptions plane{.rank = who_.rank,
                                  .world = who_.world,
                                  .host = who_.host,
                                  .deadline = deadline_,
                                  .secret = who_.secret,
                                  .figures = options_.figures};
    if (options_.wire != "stored") {
      plane.wire = dtype_from_name(options_.wire);
    }
    RUDDER_ASSIGN(plane_, dataplane::Plane::create(graph_, std::move(transport), setting_.rendezvous, plane));
    plane_->publish(0, part_->features(), graph_.row_bytes());
    RUDDER_ASSIGN(collective_, make_collective(who_, setting_.rendezvous, deadline_ / 2));
    // A slow peer is waited for; one that is gone or does not answer is not.
    collective_->set_peer_check([this]() -> Status {
      const std::vector<std::string> failed = plane_->find_failed_peers(deadline_ / 4);
      blamed_ = !failed.empty();
      return blamed_ ? Error{Errc::kPeer, fmt::format("failed: {}", fmt::join(failed, "; "))} : Status();
    });
    // Nobody pulls before all rows are published.
    return collective_->barrier();
  }

  Status start_feed() {
    dataplane::FeedOptions feeding{.fanout = options_.fanout,
                                   .epochs = options_.epochs,
                                   .first_step = progress_->next_batch(),
                                   .batch = options_.batch,
                                   .threads = options_.threads};
    feeding.figures = options_.figures;
    if (options_.record_accesses) {
      feeding.on_rows = [this](StepId, std::span<const NodeId> rows) { accesses_.add(rows); };
    }
    RUDDER_ASSIGN(structure_,
                  StructureAccess::open(graph_, *plane_, who_.rank,
                                        learner_->needs_degrees() ? DegreeUse::kAllNodes : DegreeUse::kNone));
    return options_.attach.empty() ? use_own_buffer(feeding) : use_host_buffer(feeding);
  }

  Status use_own_buffer(const dataplane::FeedOptions& feeding) {
    RUDDER_ASSIGN(const cache::BufferSize size, cache::parse_buffer_size(options_.buffer));
    const std::vector<NodeId> halo = graph::halo_of(graph_.slice(who_.rank), graph_.meta().nodes);
    dataplane::BufferOptions buffer{.policy = options_.policy,
                                    .settings = options_.settings,
                                    .slots = size.slots(halo.size()),
                                    .depth = options_.depth};
    if (!options_.steering.agent.empty()) {
      const std::uint64_t batches = dataplane::run_shape(*schedule_, feeding).steps;
      RUDDER_ASSIGN(steering_, Steering::create(options_, who_.rank, graph_, *plane_, batches,
                                                learner_->gradient().size()));
      steering_->take(buffer);
    }
    RUDDER_ASSIGN(buffer.halo_degrees, structure_->halo_degrees(halo, buffer));
    RUDDER_ASSIGN(feed_, dataplane::make_embedded_feed(
                             {graph_, std::span(&*part_, 1), *schedule_, who_.rank, structure_->remote()},
                             *plane_, feeding, buffer));
    result_.policy = options_.policy;
    return {};
  }

  Status use_host_buffer(const dataplane::FeedOptions& feeding) {
    RUDDER_ASSIGN(auto supply, dataplane::attach(graph_, who_.rank, dataplane::run_shape(*schedule_, feeding),
                                                 options_.attach, deadline_));
    const dataplane::SupplyTerms terms = supply->terms();
    for (PartId p = terms.first_part; p < terms.first_part + terms.parts; ++p) {
      RUDDER_ASSIGN(auto part, graph_.open_part(p));
      host_parts_.push_back(std::move(part));
    }
    RUDDER_ASSIGN(feed_,
                  dataplane::make_feed({graph_, host_parts_, *schedule_, who_.rank, structure_->remote()},
                                       std::move(supply), feeding, deadline_));
    result_.policy = terms.policy;
    return {};
  }

  Status count_labels() {
    auto seeds = LabelledSeeds::create(*schedule_, {part_->begin(), part_->labels()}, *collective_);
    if (!seeds.ok()) {
      return seeds.error().in(graph_.directory().string());
    }
    seeds_ = std::move(seeds).value();
    return {};
  }

  /// The rest of the epoch at hand.
  Status train_epoch() {
    StepSums sums;
    StepSums step;
    const std::uint32_t epoch = progress_->epoch();
    const TimePoint start = steady_clock().now();
    RUDDER_TRY(seeds_->begin_epoch(epoch, *collective_));
    TimePoint step_start = steady_clock().now();
    step.times.all_reduce = to_seconds(step_start - start);  // counted with the first step
    while (progress_->epoch() == epoch && !progress_->done()) {
      RUDDER_ASSIGN(step_start, stepper_->step(*feed_, step_start, step));
      if (stepper_->stopped()) {
        return {};
      }
      show(step);
      sums += std::exchange(step, {});
    }
    sums.asked += structure_->take_asked();
    RUDDER_ASSIGN(EpochResult result, sum_epoch(*collective_, sums));
    result.epoch = epoch;
    result.loss = progress_->loss_of_last_epoch() / static_cast<double>(seeds_->steps(groups_));
    if (progress_->evaluates()) {
      RUDDER_TRY(evaluate_epoch(result));
    }
    progress_->finish_epoch(result, *learner_);
    if (figures_) {
      figures_->epoch_done(result);
    }
    run_counts_ += sums.counts;
    if (metrics_) {
      RUDDER_TRY(metrics_->write(to_json(result)));
    }
    if (who_.rank == 0 && setting_.listener) {
      setting_.listener(result);
    }
    return {};
  }

  /// Tells who watches of a finished step.
  void show(const StepSums& step) {
    if (who_.rank == 0 && options_.on_step) {
      options_.on_step(progress_->next_step(), progress_->total_steps(), stepper_->loss());
    }
    if (figures_) {
      figures_->step_done(progress_->next_step(), step.counts, step.moved, step.times, stepper_->loss());
    }
  }

  Status evaluate_epoch(EpochResult& result) {
    const TimePoint start = steady_clock().now();
    RUDDER_ASSIGN(const Accuracy accuracy,
                  evaluate(graph_, *part_, *plane_, *collective_, *learner_, *structure_));
    if (!accuracy.val_judged) {
      return Error{Errc::kInvalidData, fmt::format("{}: no validation node has a label to judge epochs by",
                                                   graph_.directory().string())};
    }
    if (steering_) {
      steering_->rebase();
    }
    result.val_accuracy = accuracy.val;
    result.evaluation_seconds = to_seconds(steady_clock().now() - start);
    return {};
  }

  Status finish() {
    result_.world = who_.world;
    result_.metric = graph_.meta().multi_label ? "micro_f1" : "accuracy";
    result_.blas = blas_kernels();
    result_.stopped = stepper_->stopped();
    result_.step_hit_rates = stepper_->hit_rates();
    progress_->report(result_);
    if (!result_.stopped) {
      progress_->take_best(*learner_);
    }
    if (steering_) {
      steering_->finish();
      RUDDER_ASSIGN(result_.steering, steering_->sum(*collective_));
    }
    RUDDER_ASSIGN(result_.model_digest, compare_replicas(*collective_, learner_->parameters()));
    RUDDER_ASSIGN(result_.wire, sum_wire_error(*collective_, plane_->narrowing_error()));
    result_.wire.type = options_.wire == "stored" ? "" : name_of(plane_->wire_type());
    RUDDER_ASSIGN(result_.by_rank, gather_counts(*collective_, run_counts_));
    RUDDER_TRY(gather_accesses());
    if (options_.evaluate && !result_.stopped) {
      RUDDER_ASSIGN(const Accuracy accuracy,
                    evaluate(graph_, *part_, *plane_, *collective_, *learner_, *structure_));
      result_.evaluated = true;
      result_.val_accuracy = accuracy.val;
      result_.test_accuracy = accuracy.test;
    }
    std::array<std::uint64_t, 1> peak = {peak_rss_bytes()};
    RUDDER_TRY(collective_->max(peak));
    result_.peak_rss_bytes = peak[0];
    return collective_->barrier();
  }

  Status gather_accesses() {
    if (!options_.record_accesses) {
      return {};
    }
    RUDDER_TRY(accesses_.publish(setting_.rendezvous, who_.rank));
    if (who_.rank == 0) {
      RUDDER_ASSIGN(result_.accesses, collect_accesses(setting_.rendezvous, who_.world, graph_.book().nodes(),
                                                       Deadline::in(deadline_)));
    }
    return {};
  }

  /// Names the ranks behind a failure. Those that only noticed it must not look failed themselves: they break
  /// the collective's connections first, so that all ranks notice, and answer the others' pings for a while.
  Error explain(const Error& error) {
    if (!plane_ || !collective_ || error.code == Errc::kCancelled) {
      return error;
    }
    const Duration patience = std::min(deadline_ / 8, Duration(std::chrono::seconds(1)));
    collective_.reset();
    std::vector<std::string> failed;
    if (!blamed_) {
      failed = plane_->find_failed_peers(patience);
      std::erase_if(failed,
                    [&](const std::string& peer) { return error.message.find(peer) != std::string::npos; });
    }
    if (who_.world > 1) {
      steady_clock().sleep_until(steady_clock().now() + patience);
    }
    return failed.empty()
               ? error
               : Error{Errc::kPeer, fmt::format("{}; failed: {}", error.message, fmt::join(failed, "; "))};
  }

  const TrainOptions& options_;
  RankInfo who_;
  const graph::PartitionedGraph& graph_;
  RankSetting setting_;
  Duration deadline_;
  std::optional<graph::Part> part_;
  std::optional<sample::Schedule> schedule_;
  StepGroups groups_;
  std::optional<LabelledSeeds> seeds_;
  std::unique_ptr<Learner> learner_;
  std::optional<metrics::JsonLines> metrics_;
  // Destroyed in reverse order: the feed uses the plane.
  std::unique_ptr<dataplane::Plane> plane_;
  std::unique_ptr<Collective> collective_;
  AccessRecord accesses_;                ///< filled by the feed
  std::vector<graph::Part> host_parts_;  ///< with a shared buffer, all of the host's
  std::optional<StructureAccess> structure_;
  std::unique_ptr<Steering> steering_;  ///< of the feed's buffer; null: nobody steers
  std::unique_ptr<dataplane::BatchSource> feed_;
  std::optional<RunProgress> progress_;
  std::optional<Stepper> stepper_;
  std::optional<RunMetrics> figures_;
  cache::Counts run_counts_;
  TrainResult result_;
  bool blamed_ = false;  ///< the error at hand names the failed ranks already
};

}  // namespace

Result<TrainResult> run_rank(const RankSetting& setting, std::unique_ptr<transport::Transport> transport) {
  return RankRun(setting).run(std::move(transport));
}

}  // namespace rudder::train

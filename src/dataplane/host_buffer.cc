// SPDX-License-Identifier: Apache-2.0
#include "dataplane/host_buffer.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/machine.h"
#include "rudder/graph/vip.h"

#include "dataplane/row_store.h"

namespace rudder::dataplane {
namespace {

/// What policies look at while they live.
struct Knowledge {
  std::vector<NodeId> halo;
  std::vector<float> vip;
};

graph::PartitionBook host_book(const graph::PartitionBook& book, std::span<const PartId> parts) {
  auto host =
      graph::PartitionBook::create({0, book.begin(parts.front()), book.end(parts.back()), book.nodes()});
  return std::move(host).value();
}

/// The chance that any of the trainers needs a node in a step.
std::vector<float> host_vip(const graph::PartitionedGraph& graph, std::span<const PartId> parts,
                            const RunShape& run) {
  std::vector<float> vip;
  for (const PartId part : parts) {
    const auto own = graph::inclusion_probability(graph.topology(), graph.train(part), run.batch, run.fanout);
    if (vip.empty()) {
      vip = own;
      continue;
    }
    std::transform(vip.begin(), vip.end(), own.begin(), vip.begin(),
                   [](float a, float b) { return 1.0F - (1.0F - a) * (1.0F - b); });
  }
  return vip;
}

Result<const cache::PolicyInfo*> live_policy(const BufferOptions& options) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const info, cache::find_policy(options.policy));
  if (!info->live) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("policy '{}' needs the whole trace, so it can only be replayed", options.policy)};
  }
  return info;
}

}  // namespace

Result<bool> works_ahead(const BufferOptions& options) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const info, live_policy(options));
  return info->overlapped;
}

class HostBuffer::Impl {
 public:
  Impl(std::size_t trainers, std::uint64_t steps, SupplyTerms terms, std::unique_ptr<RowMemory> memory,
       std::unique_ptr<RowStore> store)
      : terms_(std::move(terms)),
        steps_(steps),
        depth_(terms_.ahead ? terms_.depth : 0),
        trainers_(trainers),
        memory_(std::move(memory)),
        store_(std::move(store)) {}
  ~Impl() {
    fail(Error{Errc::kCancelled, "the buffer is being destroyed"});
    if (planning_.joinable()) {
      planning_.join();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start(Knowledge knowledge, const cache::PolicyInfo& policy, cache::PolicyContext context,
             const cache::PolicySettings& settings);

  [[nodiscard]] Status offer(std::size_t i, std::vector<NodeId> rows);
  void ask(std::size_t i);
  [[nodiscard]] Result<PlacedRows> take(std::size_t i);
  void release(std::size_t i);
  void stop(std::size_t i);
  void leave(std::size_t i);
  void fail(const Error& error);
  [[nodiscard]] std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return error_ && error_->code != Errc::kCancelled ? error_ : std::nullopt;
  }
  [[nodiscard]] std::string waiting_for() const;
  [[nodiscard]] const SupplyTerms& terms() const { return terms_; }

 private:
  struct Trainer {
    std::deque<std::vector<NodeId>> offered;  ///< not merged yet
    std::deque<std::vector<NodeId>> merged;   ///< planned or being planned, not released; with others only
    std::uint64_t offers = 0;
    std::uint64_t asked = 0;
    std::uint64_t taken = 0;
    bool holding = false;  ///< reads the rows of batch taken - 1
    bool stopped = false;
    bool gone = false;
  };

  void plan();
  [[nodiscard]] std::optional<std::vector<NodeId>> merge_next();
  [[nodiscard]] bool wait_for_turn(const cache::Plan& plan);
  void advance(std::unique_lock<std::mutex>& lock);
  void admit_if_released(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool alone() const { return trainers_.size() == 1; }
  [[nodiscard]] bool all_offered() const;
  [[nodiscard]] std::uint64_t least_asked() const;
  void fail_locked(const Error& error);

  const SupplyTerms terms_;
  const std::uint64_t steps_;
  const std::uint32_t depth_;
  Knowledge knowledge_;
  std::unique_ptr<cache::Planner> planner_;  ///< the planning thread's

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Trainer> trainers_;
  std::uint64_t wanted_ = 0;    ///< batches that trainers may have offered
  std::uint64_t merged_ = 0;    ///< batches taken from all trainers
  std::uint64_t started_ = 0;   ///< plans asked for, the fill included
  std::uint64_t finished_ = 0;  ///< plans admitted, the fill included
  std::deque<Fetch> in_flight_;
  std::optional<Fetch> current_;  ///< its rows are in place
  std::size_t counted_by_ = 0;    ///< the trainer that gets the counts of `current_`
  bool busy_ = false;             ///< some thread waits for the network or admits, without the mutex
  cache::Counts fill_counts_;
  Transfer moved_;  ///< for `current_`, with what the fill moved in the first batch
  std::optional<Error> error_;

  const std::unique_ptr<RowMemory> memory_;
  const std::unique_ptr<RowStore> store_;
  std::thread planning_;
};

void HostBuffer::Impl::start(Knowledge knowledge, const cache::PolicyInfo& policy,
                             cache::PolicyContext context, const cache::PolicySettings& settings) {
  knowledge_ = std::move(knowledge);
  context.halo = knowledge_.halo;
  context.vip = knowledge_.vip;
  planner_ = std::make_unique<cache::Planner>(policy.make(context, settings), context.capacity, depth_ + 1);
  planning_ = std::thread([this] { plan(); });
}

void HostBuffer::Impl::fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  fail_locked(error);
}

void HostBuffer::Impl::fail_locked(const Error& error) {
  if (!error_) {
    error_ = error;
  }
  store_->stop();
  changed_.notify_all();
}

void HostBuffer::Impl::plan() {
  name_this_thread("rudder-plan");
  for (std::uint64_t planned = 0; planned < steps_;) {
    while (planner_->wants_input()) {
      if (merged_ == steps_) {  // only this thread changes it
        planner_->finish();
        continue;
      }
      auto rows = merge_next();
      if (!rows) {
        return;
      }
      planner_->push(std::move(*rows));
    }
    Fetch fetch;
    fetch.plan = planner_->next();
    if (!wait_for_turn(fetch.plan)) {
      return;
    }
    const Status started = store_->start(fetch);
    if (!started.ok()) {
      fail(started.error());
      return;
    }
    planned += fetch.plan.fill ? 0U : 1U;
    const std::lock_guard lock(mutex_);
    in_flight_.push_back(std::move(fetch));
    changed_.notify_all();
  }
}

bool HostBuffer::Impl::all_offered() const {
  return std::ranges::all_of(trainers_, [](const Trainer& t) { return t.gone || !t.offered.empty(); });
}

std::optional<std::vector<NodeId>> HostBuffer::Impl::merge_next() {
  std::unique_lock lock(mutex_);
  wanted_ = merged_ + 1;
  changed_.notify_all();
  changed_.wait(lock, [&] { return error_ || all_offered(); });
  if (error_) {
    return std::nullopt;
  }
  ++merged_;
  std::vector<NodeId> rows;
  std::vector<NodeId> both;
  for (Trainer& trainer : trainers_) {
    if (trainer.gone) {
      continue;
    }
    std::vector<NodeId> own = std::move(trainer.offered.front());
    trainer.offered.pop_front();
    if (alone()) {
      return own;
    }
    both.clear();
    std::ranges::set_union(rows, own, std::back_inserter(both));
    rows.swap(both);
    trainer.merged.push_back(std::move(own));
  }
  return rows;
}

std::uint64_t HostBuffer::Impl::least_asked() const {
  std::uint64_t least = steps_;
  for (const Trainer& trainer : trainers_) {
    if (!trainer.gone) {
      least = std::min(least, trainer.asked);
    }
  }
  return least;
}

bool HostBuffer::Impl::wait_for_turn(const cache::Plan& plan) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    const bool near = plan.fill || plan.step < least_asked() + depth_;
    return error_ || (near && started_ - finished_ < depth_ + 1);
  });
  ++started_;
  return !error_;
}

Status HostBuffer::Impl::offer(std::size_t i, std::vector<NodeId> rows) {
  std::unique_lock lock(mutex_);
  Trainer& me = trainers_[i];
  RUDDER_CHECK(me.offers < steps_, "more batches than the run has");
  changed_.wait(lock, [&] { return error_ || me.stopped || me.offers < wanted_; });
  if (error_) {
    return *error_;
  }
  if (me.stopped) {
    return Error{Errc::kCancelled, "the trainer leaves"};
  }
  ++me.offers;
  me.offered.push_back(std::move(rows));
  changed_.notify_all();
  return {};
}

void HostBuffer::Impl::ask(std::size_t i) {
  const std::lock_guard lock(mutex_);
  ++trainers_[i].asked;
  changed_.notify_all();
}

/// Brings the next plan's rows into place. `lock` is held before and after, not during the wait.
void HostBuffer::Impl::advance(std::unique_lock<std::mutex>& lock) {
  Fetch fetch = std::move(in_flight_.front());
  in_flight_.pop_front();
  busy_ = true;
  lock.unlock();
  auto moved = fetch.plan.fill ? store_->fill(fetch.plan) : store_->wait(fetch);
  lock.lock();
  busy_ = false;
  if (!moved.ok()) {
    fail_locked(moved.error());
    return;
  }
  moved_ += moved.value();
  if (fetch.plan.fill) {
    fill_counts_ = fetch.plan.counts;
    ++finished_;
  } else {
    fetch.plan.counts += std::exchange(fill_counts_, {});
    counted_by_ = static_cast<std::size_t>(
        std::ranges::find_if(trainers_, [](const Trainer& t) { return !t.gone; }) - trainers_.begin());
    current_ = std::move(fetch);
  }
  changed_.notify_all();
}

Result<PlacedRows> HostBuffer::Impl::take(std::size_t i) {
  std::unique_lock lock(mutex_);
  Trainer& me = trainers_[i];
  for (;;) {
    if (error_) {
      return *error_;
    }
    if (me.stopped) {
      return Error{Errc::kCancelled, "the trainer leaves"};
    }
    if (current_ && current_->plan.step == me.taken) {
      break;
    }
    if (!busy_ && !current_ && !in_flight_.empty()) {
      advance(lock);
    } else {
      changed_.wait(lock);
    }
  }
  me.holding = true;
  ++me.taken;
  PlacedRows placed;
  placed.step = current_->plan.step;
  placed.slots = store_->slots()->data();
  placed.slot_memory = store_->slots();
  if (current_->staging != nullptr) {
    placed.staging = current_->staging->data();
    placed.staging_memory = current_->staging;
  }
  if (counted_by_ == i) {
    placed.counts = current_->plan.counts;
    placed.transfer = std::exchange(moved_, {});
  }
  if (alone()) {
    placed.places = std::move(current_->plan.sources);
    return placed;
  }
  // While this trainer holds the batch, neither its rows nor the plan change.
  const std::vector<NodeId>& own = me.merged.front();
  const cache::Plan& plan = current_->plan;
  lock.unlock();
  placed.places.reserve(own.size());
  std::size_t at = 0;
  for (const NodeId row : own) {
    while (plan.rows[at] != row) {
      ++at;
    }
    placed.places.push_back(plan.sources[at]);
  }
  return placed;
}

void HostBuffer::Impl::release(std::size_t i) {
  std::unique_lock lock(mutex_);
  Trainer& me = trainers_[i];
  RUDDER_CHECK(me.holding, "release() without a batch");
  me.holding = false;
  if (!alone()) {
    me.merged.pop_front();
  }
  admit_if_released(lock);
}

/// Admits the current batch once nobody will read it any more. `lock` as for advance().
void HostBuffer::Impl::admit_if_released(std::unique_lock<std::mutex>& lock) {
  if (!current_ || busy_) {
    return;
  }
  const StepId step = current_->plan.step;
  if (!std::ranges::all_of(trainers_,
                           [&](const Trainer& t) { return t.gone || (t.taken > step && !t.holding); })) {
    return;
  }
  Fetch fetch = std::move(*current_);
  current_.reset();
  busy_ = true;
  lock.unlock();
  store_->admit(fetch);
  lock.lock();
  busy_ = false;
  ++finished_;
  changed_.notify_all();
}

void HostBuffer::Impl::stop(std::size_t i) {
  const std::lock_guard lock(mutex_);
  trainers_[i].stopped = true;
  if (std::ranges::all_of(trainers_, [](const Trainer& t) { return t.gone || t.stopped; })) {
    store_->stop();
  }
  changed_.notify_all();
}

void HostBuffer::Impl::leave(std::size_t i) {
  std::unique_lock lock(mutex_);
  Trainer& me = trainers_[i];
  me.gone = true;
  me.holding = false;
  me.offered.clear();
  me.merged.clear();
  if (std::ranges::all_of(trainers_, [](const Trainer& t) { return t.gone; })) {
    fail_locked(Error{Errc::kCancelled, "all trainers have left"});
    return;
  }
  changed_.notify_all();
  admit_if_released(lock);
}

std::string HostBuffer::Impl::waiting_for() const {
  const std::lock_guard lock(mutex_);
  if (busy_) {
    return "the network";
  }
  if (current_) {
    for (std::size_t i = 0; i < trainers_.size(); ++i) {
      if (!trainers_[i].gone && (trainers_[i].holding || trainers_[i].taken <= current_->plan.step)) {
        return fmt::format("local trainer {} to read batch {}", i, current_->plan.step);
      }
    }
  }
  for (std::size_t i = 0; i < trainers_.size(); ++i) {
    if (!trainers_[i].gone && trainers_[i].offered.empty() && trainers_[i].offers < wanted_) {
      return fmt::format("local trainer {} to say which rows batch {} needs", i, merged_);
    }
  }
  return "the planner";
}

/// One trainer's end.
class HostBuffer::Supply final : public RowSupply {
 public:
  Supply(std::shared_ptr<Impl> buffer, std::size_t trainer) : buffer_(std::move(buffer)), trainer_(trainer) {}
  ~Supply() override { buffer_->leave(trainer_); }

  [[nodiscard]] Status offer(std::vector<NodeId> rows) override {
    return buffer_->offer(trainer_, std::move(rows));
  }
  void ask() override { buffer_->ask(trainer_); }
  [[nodiscard]] Result<PlacedRows> take() override { return buffer_->take(trainer_); }
  void release() override { buffer_->release(trainer_); }
  void stop() override { buffer_->stop(trainer_); }
  [[nodiscard]] std::string waiting_for() const override { return buffer_->waiting_for(); }
  [[nodiscard]] const SupplyTerms& terms() const override { return buffer_->terms(); }

 private:
  std::shared_ptr<Impl> buffer_;
  std::size_t trainer_;
};

HostBuffer::HostBuffer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostBuffer::~HostBuffer() = default;

Result<std::unique_ptr<HostBuffer>> HostBuffer::create(const graph::PartitionedGraph& graph,
                                                       std::span<const PartId> parts, Plane& plane,
                                                       const RunShape& run, const BufferOptions& options,
                                                       std::unique_ptr<RowMemory> memory) {
  RUDDER_ASSIGN(const cache::PolicyInfo* const policy, live_policy(options));
  RUDDER_ASSIGN(auto store, RowStore::create(plane, graph.row_bytes(), options.slots, *memory));
  const graph::PartitionBook book = host_book(graph.book(), parts);
  Knowledge knowledge{graph::halo_of(graph.topology(), book, 1), {}};
  if (policy->needs_vip) {
    knowledge.vip = host_vip(graph, parts, run);
  }
  cache::PolicyContext context;
  context.capacity = options.slots;
  context.steps = run.steps;
  context.steps_per_epoch = run.steps_per_epoch;
  context.owned_begin = book.begin(1);
  context.seed = cache::policy_seed(run.seed, context.owned_begin);
  context.owned_end = book.end(1);
  context.indptr = graph.topology().indptr;
  auto impl = std::make_shared<Impl>(parts.size(), run.steps,

                                     SupplyTerms{options.policy, policy->overlapped, options.depth,
                                                 options.slots, parts.front(), narrow<PartId>(parts.size())},

                                     std::move(memory), std::move(store));
  impl->start(std::move(knowledge), *policy, context, options.settings);
  return std::unique_ptr<HostBuffer>(new HostBuffer(std::move(impl)));
}

std::unique_ptr<RowSupply> HostBuffer::supply(std::size_t i) {
  return std::make_unique<Supply>(impl_, i);
}

void HostBuffer::fail(const Error& error) {
  impl_->fail(error);
}

std::optional<Error> HostBuffer::failure() const {
  return impl_->failure();
}

}  // namespace rudder::dataplane

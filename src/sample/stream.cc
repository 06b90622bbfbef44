// SPDX-License-Identifier: Apache-2.0
#include "rudder/sample/stream.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "rudder/core/machine.h"

#include "sample/owner_sampler.h"

namespace rudder::sample {
namespace {

/// Samples one batch.
using Sampler = std::function<Status(std::span<const NodeId>, BatchKey, std::uint64_t, SampledBatch&)>;
/// Makes one thread's sampler; called by any thread.
using MakeSampler = std::function<Sampler()>;

/// Batches that wait for owners' answers at the same time at most: a thread each.
constexpr std::size_t kMostAsking = 16;

using Order = std::shared_ptr<const std::vector<NodeId>>;

/// The permutations of the epochs in use, each computed once by the thread that needs it first.
class EpochOrders {
 public:
  EpochOrders(const Schedule& schedule, Rank rank) : schedule_(schedule), rank_(rank) {}

  /// Threads lag behind each other by less than the run-ahead, but that may span epochs: an older epoch than
  /// the newest is computed again rather than kept.
  Order get(std::uint32_t epoch) {
    const std::lock_guard lock(mutex_);
    if (newest_ != nullptr && epoch == newest_epoch_) {
      return newest_;
    }
    if (previous_ != nullptr && epoch == previous_epoch_) {
      return previous_;
    }
    auto order = std::make_shared<const std::vector<NodeId>>(schedule_.epoch_order(epoch, rank_));
    if (newest_ == nullptr || epoch > newest_epoch_) {
      previous_ = std::exchange(newest_, order);
      previous_epoch_ = std::exchange(newest_epoch_, epoch);
    }
    return order;
  }

 private:
  const Schedule& schedule_;
  const Rank rank_;
  std::mutex mutex_;
  Order newest_, previous_;
  std::uint32_t newest_epoch_ = 0;
  std::uint32_t previous_epoch_ = 0;
};

}  // namespace

struct SampleStream::Impl {
  Impl(const Schedule& batches, StreamOptions choices)
      : schedule(batches), options(std::move(choices)), orders(batches, options.rank) {
    RUDDER_CHECK(options.rank < schedule.world(), "a stream's rank is beyond the schedule's world");
    options.ahead = std::max<std::size_t>(options.ahead, 1);
    const std::uint64_t all = std::uint64_t{options.epochs} * schedule.steps_per_epoch();
    total = all - std::min(options.first_step, all);
    ready.resize(options.threads == 0 ? 0 : options.ahead);
  }

  void start(MakeSampler maker, std::size_t workers) {
    make_sampler = std::move(maker);
    if (options.threads == 0) {
      own_sampler = make_sampler();
      return;
    }
    threads.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      threads.emplace_back([this, i] { work(i); });
    }
  }
  void start_with(graph::CscView topology) {
    const auto maker = [this, topology]() -> Sampler {
      const auto sampler = std::make_shared<NeighborSampler>(topology, options.fanout, schedule.seed());
      return [sampler](std::span<const NodeId> seeds, BatchKey key, std::uint64_t number, SampledBatch& out) {
        sampler->sample(seeds, key, number, out);
        return Status();
      };
    };
    start(maker, options.threads);
  }
  void start_with(graph::CscSlice own, NodeId nodes, RemoteNeighbors& neighbors) {
    remote = &neighbors;
    turns.emplace(std::max<std::size_t>(options.threads, 1));
    const auto maker = [this, own, nodes]() -> Sampler {
      const auto sampler =
          std::make_shared<OwnerSampler>(own, nodes, options.fanout, schedule.seed(), *remote, *turns);
      return [sampler](std::span<const NodeId> seeds, BatchKey key, std::uint64_t number, SampledBatch& out) {
        return sampler->sample(seeds, key, number, out);
      };
    };
    start(maker, std::min(options.ahead, std::max(options.threads, kMostAsking)));
  }

  ~Impl() {
    stop();
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    if (remote != nullptr) {
      remote->stop();
    }
    room.notify_all();
    arrived.notify_all();
  }

  [[nodiscard]] BatchKey key_of(std::uint64_t index) const {
    const std::uint64_t step = options.first_step + index;
    const std::uint32_t steps = schedule.steps_per_epoch();
    return {static_cast<std::uint32_t>(step / steps), static_cast<std::uint32_t>(step % steps), options.rank};
  }

  [[nodiscard]] Status sample(const Sampler& sampler, std::uint64_t step, SampledBatch& out) {
    const BatchKey key = key_of(step);
    const Order order = orders.get(key.epoch);
    const auto [begin, end] = schedule.range(key.batch, key.rank);
    const std::span<const NodeId> seeds = std::span(*order).subspan(begin, end - begin);
    return sampler(seeds, key, schedule.global_batch(key), out);
  }

  /// A spare batch, or an empty one. Call with the lock held.
  SampledBatch take_spare() {
    SampledBatch batch;
    if (!spares.empty()) {
      batch = std::move(spares.back());
      spares.pop_back();
    }
    return batch;
  }

  void work(std::size_t index) {
    name_this_thread(fmt::format("sample{}", index));
    const Sampler sampler = make_sampler();
    std::unique_lock lock(mutex);
    while (true) {
      room.wait(lock, [&] { return ended() || claimed == total || claimed < delivered + options.ahead; });
      if (ended() || claimed == total) {
        return;
      }
      const std::uint64_t step = claimed++;
      SampledBatch batch = take_spare();
      lock.unlock();
      const Status done = sample(sampler, step, batch);
      lock.lock();
      if (!done.ok()) {
        if (!failure) {
          failure = done.error();
        }
        room.notify_all();
        arrived.notify_all();
        return;
      }
      std::optional<SampledBatch>& slot = ready[step % options.ahead];
      RUDDER_CHECK(!slot.has_value(), "a batch was sampled before its place was free");
      slot = std::move(batch);
      ++waiting;
      if (step == delivered) {
        arrived.notify_one();
      }
    }
  }

  Result<SampledBatch> next(Deadline deadline) {
    std::unique_lock lock(mutex);
    if (delivered == total) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("all {} batches of rank {} were delivered", total, options.rank)};
    }
    if (options.threads == 0) {
      return next_on_this_thread(lock);
    }
    std::optional<SampledBatch>& slot = ready[delivered % options.ahead];
    const bool woken = arrived.wait_until(lock, deadline.at(), [&] { return ended() || slot.has_value(); });
    if (ended()) {
      return why_ended();
    }
    if (!woken) {
      const BatchKey key = key_of(delivered);
      return Error{
          Errc::kTimeout,
          fmt::format("the {} sampling threads of rank {} did not finish batch {} of epoch {} in time",
                      options.threads, options.rank, key.batch, key.epoch)};
    }
    SampledBatch batch = std::move(*slot);
    slot.reset();
    ++delivered;
    --waiting;
    lock.unlock();
    room.notify_one();
    return batch;
  }

  Result<SampledBatch> next_on_this_thread(std::unique_lock<std::mutex>& lock) {
    if (ended()) {
      return why_ended();
    }
    SampledBatch batch = take_spare();
    const std::uint64_t step = delivered++;
    lock.unlock();
    const Status done = sample(own_sampler, step, batch);
    if (!done.ok()) {
      lock.lock();
      failure = done.error();
      return why_ended();
    }
    return batch;
  }

  // With the lock held.
  [[nodiscard]] bool ended() const { return stopped || failure.has_value(); }
  [[nodiscard]] Error why_ended() const {
    return stopped ? Error{Errc::kCancelled, fmt::format("sampling of rank {} was stopped", options.rank)}
                   : *failure;
  }

  void recycle(SampledBatch batch) {
    const std::lock_guard lock(mutex);
    if (spares.size() < options.ahead + options.threads) {
      spares.push_back(std::move(batch));
    }
  }

  const Schedule& schedule;
  StreamOptions options;
  EpochOrders orders;
  std::uint64_t total = 0;
  MakeSampler make_sampler;
  Sampler own_sampler;                ///< when there are no threads
  RemoteNeighbors* remote = nullptr;  ///< with a part of the structure only
  std::optional<Turns> turns;         ///< then, too

  mutable std::mutex mutex;  ///< guards everything below but the threads
  std::condition_variable room;
  std::condition_variable arrived;
  std::uint64_t claimed = 0;    ///< steps that a thread has taken
  std::uint64_t delivered = 0;  ///< steps that next() has returned
  std::size_t waiting = 0;      ///< places of `ready` that are filled
  bool stopped = false;
  std::optional<Error> failure;                    ///< of a sampler: the stream's end
  std::vector<std::optional<SampledBatch>> ready;  ///< step s waits in place s % ahead
  std::vector<SampledBatch> spares;
  std::vector<std::thread> threads;
};

SampleStream::SampleStream(graph::CscView topology, const Schedule& schedule, StreamOptions options)
    : impl_(std::make_unique<Impl>(schedule, std::move(options))) {
  impl_->start_with(topology);
}
SampleStream::SampleStream(graph::CscSlice own, NodeId nodes, RemoteNeighbors& remote,
                           const Schedule& schedule, StreamOptions options)
    : impl_(std::make_unique<Impl>(schedule, std::move(options))) {
  impl_->start_with(own, nodes, remote);
}
SampleStream::~SampleStream() = default;

std::uint64_t SampleStream::total() const noexcept {
  return impl_->total;
}
Result<SampledBatch> SampleStream::next(Deadline deadline) {
  return impl_->next(deadline);
}
void SampleStream::recycle(SampledBatch batch) {
  impl_->recycle(std::move(batch));
}
std::size_t SampleStream::waiting() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->waiting;
}
void SampleStream::stop() {
  impl_->stop();
}

}  // namespace rudder::sample

// SPDX-License-Identifier: Apache-2.0
#include "train/parallel.h"

#include <algorithm>

#include "rudder/core/check.h"
#include "rudder/core/machine.h"

namespace rudder::train {

WorkerPool::WorkerPool(std::size_t threads, const std::function<void()>& start) {
  RUDDER_CHECK(threads >= 1, "a pool has at least the caller's thread");
  for (std::size_t i = 1; i < threads; ++i) {
    workers_.emplace_back([this, start](const std::stop_token& stop) {
      name_this_thread("rudder-compute");
      if (start) {
        start();
      }
      work(stop);
    });
  }
}

WorkerPool::~WorkerPool() {
  for (std::jthread& worker : workers_) {
    worker.request_stop();
  }
}

void WorkerPool::run(std::size_t count, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t)>& body) {
  RUDDER_CHECK(grain > 0, "pieces have at least one item");
  if (workers_.empty() || count <= grain) {
    for (std::size_t begin = 0; begin < count; begin += grain) {
      body(begin, std::min(begin + grain, count));
    }
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    busy_ = workers_.size();
    ++round_;
  }
  wake_.notify_all();
  take_pieces();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return busy_ == 0; });
}

void WorkerPool::take_pieces() {
  for (;;) {
    const std::size_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (begin >= count_) {
      return;
    }
    (*body_)(begin, std::min(begin + grain_, count_));
  }
}

void WorkerPool::work(const std::stop_token& stop) {
  std::size_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [&] { return round_ != seen; })) {
        return;
      }
      seen = round_;
    }
    take_pieces();
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) {
      idle_.notify_one();
    }
  }
}

}  // namespace rudder::train

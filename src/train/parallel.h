// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace rudder::train {

/// Runs loops on `threads` threads, the caller's among them. Which thread takes which piece is not fixed:
/// pieces must not depend on each other. One caller at a time.
class WorkerPool {
 public:
  /// `start` runs first on each of the threads - 1 new threads; it may be empty.
  explicit WorkerPool(std::size_t threads, const std::function<void()>& start = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] std::size_t threads() const noexcept { return workers_.size() + 1; }

  /// Calls body(begin, end) over pieces of [0, count) of `grain` items (the last may be shorter); returns
  /// when all are done. body must not throw.
  void run(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body);

 private:
  void work(const std::stop_token& stop);
  void take_pieces();

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  std::size_t round_ = 0;
  std::size_t busy_ = 0;
  const std::function<void(std::size_t, std::size_t)>* body_ = nullptr;
  std::size_t count_ = 0;
  std::size_t grain_ = 1;
  std::atomic<std::size_t> next_{0};  // relaxed: only hands out pieces; the mutex publishes their results
  std::vector<std::jthread> workers_;
};

}  // namespace rudder::train

// SPDX-License-Identifier: Apache-2.0
// What each owner of rows has answered so far, and for how long it was waited for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/dataplane/plane.h"
#include "rudder/metrics/registry.h"

namespace rudder::dataplane {

/// One thread at a time changes it; any thread may read, which waits for nothing. Allocates nothing once
/// made. Of figures that are read while they change, some may be newer than others: relaxed.
class TrafficMeter {
 public:
  explicit TrafficMeter(std::size_t owners) : owners_(std::make_unique<Owner[]>(owners)), count_(owners) {}

  void answered(Rank owner, Duration latency, std::uint64_t rows) noexcept {
    Owner& one = owners_[owner];
    one.rows.fetch_add(rows, std::memory_order_relaxed);
    one.seconds.fetch_add(to_seconds(latency), std::memory_order_relaxed);
    one.answers.fetch_add(1, std::memory_order_relaxed);
    const double least = one.least.load(std::memory_order_relaxed);
    if (least == 0 || to_seconds(latency) < least) {
      one.least.store(to_seconds(latency), std::memory_order_relaxed);
    }
  }
  /// So many requests are with the owner now.
  void in_flight(Rank owner, std::size_t requests) noexcept {
    Owner& one = owners_[owner];
    total_ += requests - one.requests;
    one.requests = requests;
    run(one.busy, requests > 0);
    run(moving_, total_ > 0);
  }
  /// Fills in as many owners as `out` holds; returns the seconds in which any request was in flight.
  [[nodiscard]] double read(std::span<OwnerTraffic> out) const noexcept {
    for (std::size_t i = 0; i < out.size() && i < count_; ++i) {
      const Owner& one = owners_[i];
      out[i] = {.rows = one.rows.load(std::memory_order_relaxed),
                .answers = one.answers.load(std::memory_order_relaxed),
                .seconds = one.seconds.load(std::memory_order_relaxed),
                .busy_seconds = one.busy.value(),
                .least_seconds = one.least.load(std::memory_order_relaxed)};
    }
    return moving_.value();
  }

 private:
  struct Owner {
    std::atomic<std::uint64_t> rows{0}, answers{0};
    std::atomic<double> seconds{0}, least{0};
    metrics::Stopwatch busy;
    std::size_t requests = 0;
  };
  static void run(metrics::Stopwatch& watch, bool on) noexcept {
    if (on) {
      watch.start();
    } else {
      watch.stop();
    }
  }

  std::unique_ptr<Owner[]> owners_;
  std::size_t count_;
  metrics::Stopwatch moving_;
  std::size_t total_ = 0;  ///< requests in flight
};

}  // namespace rudder::dataplane

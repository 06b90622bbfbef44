// SPDX-License-Identifier: Apache-2.0
// What a host's service shows of itself and of its trainers. Nothing is shown, and nothing measured, without
// a registry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "rudder/cache/planner.h"
#include "rudder/core/ids.h"
#include "rudder/dataplane/plane.h"
#include "rudder/metrics/registry.h"

namespace rudder::dataplane {

/// The service as a whole. For its serving thread.
class ServiceFigures {
 public:
  /// Trainers `first` to `first + parts - 1` are this host's.
  ServiceFigures(const PlaneOptions& plane, Rank first, PartId parts);

  void attached(Rank trainer) noexcept { set_attached(trainer, 1); }
  void left(Rank trainer) noexcept { set_attached(trainer, 0); }
  /// The run's rows have been counted before.
  void run_served() noexcept {
    if (runs_ != nullptr) {
      runs_->add();
    }
  }

 private:
  void set_attached(Rank trainer, double value) noexcept;

  std::map<Rank, metrics::Gauge*> attached_;
  metrics::Counter* runs_ = nullptr;
};

/// One trainer of one run; figures go on from those of its earlier runs. A trainer waits while it has asked
/// for a batch that it was not given and holds no other. Thread-safe.
class TrainerFigures {
 public:
  TrainerFigures(const PlaneOptions& plane, const std::string& policy, Rank trainer);
  /// It waits no more, and gauges fall to zero.
  ~TrainerFigures();
  TrainerFigures(const TrainerFigures&) = delete;
  TrainerFigures& operator=(const TrainerFigures&) = delete;

  void asked() noexcept;
  /// `counts`, `moved`: as in PlacedRows. The number of batches is changed last.
  void given(std::size_t rows, const cache::Counts& counts, const Transfer& moved) noexcept;
  void released() noexcept;

 private:
  struct Figures {
    Figures(metrics::Registry& registry, const std::string& host, const std::string& policy,
            const std::string& trainer);
    metrics::Counter& requested;  ///< this and those down to messages: of all trainers together
    metrics::Counter& hit;
    metrics::Counter& fetched;
    metrics::Counter& bypassed;
    metrics::Counter& payload_bytes;
    metrics::Counter& wire_bytes;
    metrics::Counter& messages;
    metrics::Counter& rows;
    metrics::Counter& batches;
    metrics::Stopwatch& waited;
    metrics::Gauge& waiting;
    metrics::Gauge& ahead;
  };

  void update() noexcept;  // with the mutex held

  std::optional<Figures> figures_;
  std::mutex mutex_;
  std::uint64_t asked_ = 0;
  std::uint64_t given_ = 0;
  bool holding_ = false;
};

}  // namespace rudder::dataplane

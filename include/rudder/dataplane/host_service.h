// SPDX-License-Identifier: Apache-2.0
// Serves the trainers of one host: `rudder serve`'s core.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "rudder/cache/planner.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/graph/partition.h"

namespace rudder::dataplane {

struct ServiceOptions {
  std::filesystem::path socket;  ///< where trainers attach; mode 0600
  PartId first_part = 0;         ///< trainer i of the host trains part first_part + i
  PartId parts = 1;
  BufferOptions buffer;                  ///< shared by the host's trainers
  Duration deadline = from_seconds(10);  ///< from the first trainer that attaches to the last
  /// Hears, in words, of what happens: who attaches, who leaves, who is refused. May be empty.
  std::function<void(const std::string&)> listener = nullptr;
};

/// One run of the host's trainers, from the first that attached until all had left.
struct ServedRun {
  std::uint64_t steps = 0;  ///< batches of each trainer
  cache::Counts counts;     ///< of the host's batches, each the union of its trainers'
  Transfer transfer;
};

/// Takes the host's trainers in, gives each its end of one HostBuffer, and lets them go or die at any time.
/// Only processes of this user (or root) can attach; they can read the rows and write nothing. Whatever a
/// trainer sends, it harms itself at most: what does not parse ends its connection with the reason.
///
/// Three threads a trainer, besides the buffer's and the plane's.
class HostService {
 public:
  /// The name in the file system is there when this returns. `graph` and `plane`, which owns these parts,
  /// must outlive the service.
  [[nodiscard]] static Result<std::unique_ptr<HostService>> open(const graph::PartitionedGraph& graph,
                                                                 Plane& plane, ServiceOptions options);
  ~HostService();
  HostService(const HostService&) = delete;
  HostService& operator=(const HostService&) = delete;

  /// Serves one run, waiting without limit for its first trainer; kCancelled after stop(). An error when its
  /// trainers did not all come in time, or when rows could not be had; the trainers have been told.
  [[nodiscard]] Result<ServedRun> serve_run();
  /// Ends serve_run(), now and later. Safe in signal handlers and on any thread.
  void stop() noexcept;

 private:
  class Impl;
  explicit HostService(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::dataplane

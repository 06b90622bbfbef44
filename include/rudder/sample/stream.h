// SPDX-License-Identifier: Apache-2.0
// All batches of one rank, sampled by several threads ahead of use, delivered in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/graph/graph.h"
#include "rudder/sample/neighbors.h"
#include "rudder/sample/sampler.h"
#include "rudder/sample/schedule.h"

namespace rudder::sample {

struct StreamOptions {
  Rank rank = 0;
  std::uint32_t epochs = 1;
  std::uint64_t first_step = 0;  ///< of the run, epochs counted through: steps before it are left out
  std::vector<int> fanout;
  std::size_t threads = 1;  ///< 0: sample inside next(), on the caller's thread (nothing runs ahead)
  std::size_t ahead = 8;    ///< batches finished or in work beyond the one delivered last; at least 1 is used
};

/// Owns its threads and joins them on destruction. next() is for one consumer thread.
class SampleStream {
 public:
  /// `topology` and `schedule` must outlive the stream.
  SampleStream(graph::CscView topology, const Schedule& schedule, StreamOptions options);
  /// With the structure of some nodes only, of a graph of `nodes`; all else is asked of `remote`, which the
  /// stream stops when it is stopped. Up to min(ahead, 16) batches wait for answers at the same time, each on
  /// a thread of its own; `threads` of those compute at a time.
  SampleStream(graph::CscSlice own, NodeId nodes, RemoteNeighbors& remote, const Schedule& schedule,
               StreamOptions options);
  ~SampleStream();

  [[nodiscard]] std::uint64_t total() const noexcept;  ///< batches from first_step to the end of the run
  /// The next batch, or an error: kTimeout when the deadline passes (the same batch can be asked for again),
  /// kCancelled after stop(), kInvalidArgument after total() batches, or what an owner's failure is; that one
  /// stays. With threads = 0 no thread is waited for.
  [[nodiscard]] Result<SampledBatch> next(Deadline deadline);
  /// Gives back a delivered batch, so that a later one reuses its memory. Optional; thread-safe.
  void recycle(SampledBatch batch);
  /// Batches finished and not yet delivered: what the consumer can take without waiting. At most `ahead`.
  /// Thread-safe.
  [[nodiscard]] std::size_t waiting() const;
  /// Wakes next() and ends the threads early. Thread-safe.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::sample

// SPDX-License-Identifier: Apache-2.0
// Samples batches and offers their remote rows to a buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/feed.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/sample/sampler.h"
#include "rudder/sample/stream.h"

#include "dataplane/remote_rows.h"

namespace rudder::dataplane {

/// A batch whose rows have been offered.
struct OfferedBatch {
  sample::SampledBatch sampled;
  std::vector<LocalId> positions;  ///< of the offered rows in sampled.nodes
};

/// offer_next() is one thread's, take() one thread's after the call that offered it, the rest anybody's.
class OfferedBatches {
 public:
  /// `ahead`, `threads` as for sample::StreamOptions; rows outside of [begin, end) are remote.
  OfferedBatches(const FeedInputs& inputs, const FeedOptions& options, std::size_t threads, std::size_t ahead,
                 NodeId begin, NodeId end, RowSupply& supply);

  [[nodiscard]] std::uint64_t total() const noexcept { return stream_.total(); }
  /// Samples the next batch and offers its remote rows; waits until they are wanted.
  [[nodiscard]] Status offer_next();
  /// The oldest batch offered and not taken. There must be one.
  [[nodiscard]] OfferedBatch take();
  void recycle(sample::SampledBatch batch) { stream_.recycle(std::move(batch)); }
  /// Makes the sampling of offer_next() return kCancelled.
  void stop() { stream_.stop(); }

 private:
  sample::SampleStream stream_;
  RemoteSplitter splitter_;
  RowSupply& supply_;
  const std::function<void(StepId, std::span<const NodeId>)> on_rows_;
  std::uint64_t offered_ = 0;
  std::mutex mutex_;
  std::deque<OfferedBatch> waiting_;
};

}  // namespace rudder::dataplane

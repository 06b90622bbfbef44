// SPDX-License-Identifier: Apache-2.0
// What a trainer asks of a buffer of remote rows, whether that buffer is its own or its host's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/cache/policy.h"
#include "rudder/cache/steersman.h"
#include "rudder/core/dtype.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/plane.h"

namespace rudder::dataplane {

struct BufferOptions {
  std::string policy = "lookahead";
  cache::PolicySettings settings;
  SlotId slots = 0;         ///< buffer size in rows
  std::uint32_t depth = 4;  ///< batches asked for, fetched or gathered ahead of the one in training
  /// Parallel to the halo, from the owners: for policies that go by degree (wants_halo_degrees) where the
  /// graph has the structure of one part only.
  std::vector<std::uint32_t> halo_degrees = {};
  /// Steers the buffer from `policy` on, which must be the one that its terms name; outlives the buffer.
  /// Null: nobody, and the policy holds throughout.
  cache::Steersman* steersman = nullptr;
};

/// Whether the policy allows that batches are sampled and rows moved ahead of need (`none` does not). An
/// unknown policy, or one that needs the whole trace, is an error.
[[nodiscard]] Result<bool> works_ahead(const BufferOptions& options);

/// What policies may know of the run.
struct RunShape {
  std::uint64_t steps = 0;  ///< batches of each trainer, from the first to be offered to the end of the run
  std::uint32_t steps_per_epoch = 1;
  std::uint64_t seed = 1;
  std::size_t batch = 512;  ///< seeds a step of one trainer
  std::vector<int> fanout;
};
/// Whether the policy goes by BufferOptions::halo_degrees where the whole structure isn't here. Errors as
/// works_ahead(), and for a policy that cannot do without the whole structure.
[[nodiscard]] Result<bool> wants_halo_degrees(const BufferOptions& options);

/// What the trainers of a host share a buffer under.
struct SupplyTerms {
  std::string policy;
  bool ahead = true;  ///< as works_ahead()
  std::uint32_t depth = 4;
  SlotId slots = 0;
  PartId first_part = 0;  ///< the host's trainers train parts [first_part, first_part + parts)
  PartId parts = 1;
  std::optional<DType> narrowed = std::nullopt;  ///< type of the placed rows; nothing: the graph's
};

class RowBlock;

/// Where the remote rows of one batch lie. Readable until they are released: no slot is overwritten and no
/// staging memory used again before.
struct PlacedRows {
  StepId step = 0;
  std::vector<cache::RowSource> places;  ///< parallel to the rows offered for this batch
  const std::byte* slots = nullptr;      ///< row `place` at place x row bytes, for those that are not staged
  const std::byte* staging = nullptr;    ///< the same for those that are
  std::shared_ptr<RowBlock> slot_memory, staging_memory;  ///< which hold these, when they are this process's
  /// What the buffer did for this batch, the initial fill with step 0. Of a batch that several trainers
  /// share, the first of them gets all.
  cache::Counts counts;
  Transfer transfer;
};

/// One trainer's end of a buffer. The trainer offers the remote rows of its batches in order, asks for
/// batches in order, takes their rows and releases them. Three threads may do so: one offers, one takes and
/// releases, one asks; stop() is anybody's.
class RowSupply {
 public:
  RowSupply() = default;
  RowSupply(const RowSupply&) = delete;
  RowSupply& operator=(const RowSupply&) = delete;
  virtual ~RowSupply() = default;

  /// The next batch's distinct remote rows, ascending. Waits while the planner needs none.
  [[nodiscard]] virtual Status offer(std::vector<NodeId> rows) = 0;
  /// The trainer wants one more batch. With n batches asked for, rows of n + depth may move.
  virtual void ask() = 0;
  /// Waits until the batch before was released and the next one's rows are in place.
  [[nodiscard]] virtual Result<PlacedRows> take() = 0;
  /// The rows of the batch taken last are not read any more.
  virtual void release() = 0;
  /// Makes waits end with kCancelled, now and later.
  virtual void stop() = 0;
  /// What take() is waiting for, in words: "rows of batch 3 from trainer 1".
  [[nodiscard]] virtual std::string waiting_for() const = 0;
  [[nodiscard]] virtual const SupplyTerms& terms() const = 0;
};

}  // namespace rudder::dataplane

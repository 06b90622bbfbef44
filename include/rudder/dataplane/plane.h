// SPDX-License-Identifier: Apache-2.0
// One rank's data plane, embedded form: serves its rows to peers and pulls theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/dtype.h"
#include "rudder/core/ids.h"
#include "rudder/core/narrow.h"
#include "rudder/core/result.h"
#include "rudder/core/secret.h"
#include "rudder/graph/partition.h"
#include "rudder/metrics/registry.h"
#include "rudder/sample/neighbors.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

namespace rudder::dataplane {

struct PlaneOptions {
  Rank rank = 0;
  Rank world = 1;
  PartId parts_each = 1;                 ///< parts of each rank, one after another: all trainers of a host
  std::string host;                      ///< for error messages
  Duration deadline = from_seconds(10);  ///< of every wait for a peer
  /// Rows are pulled in requests of about this many bytes; at most 64 MiB. Over TCP on one machine 1 MiB
  /// moved 1.1 to 1.2 times the bytes of 256 KiB a second.
  std::size_t request_bytes = std::size_t{1} << 20;
  std::uint32_t credits = 4;  ///< requests in flight an owner; at most 64
  /// f16 or bf16: f32 features (table 0) are sent as this. Nothing: as they are.
  std::optional<DType> wire = std::nullopt;
  std::string session =
      "dataplane";  ///< prefix of the rendezvous keys; one of its own for each plane of a run
  /// What all ranks of the run know: they prove it to each other, and take frames from nobody else. Unless
  /// given it is a new one, with which only copies of these options meet.
  Secret secret = {};
  metrics::Registry* figures = nullptr;  ///< gets figures of each peer; outlives the plane; null: none
};

/// What a pull moved.
struct Transfer {
  std::uint64_t rows = 0;
  std::uint64_t payload_bytes = 0;  ///< rows x row bytes
  std::uint64_t wire_bytes = 0;     ///< headers and bodies, both directions
  std::uint64_t messages = 0;       ///< both directions

  Transfer& operator+=(const Transfer& other) noexcept {
    rows += other.rows;
    payload_bytes += other.payload_bytes;
    wire_bytes += other.wire_bytes;
    messages += other.messages;
    return *this;
  }
};

/// What an owner of rows has answered since the plane was made.
struct OwnerTraffic {
  std::uint64_t rows = 0;
  std::uint64_t answers = 0;
  double seconds = 0;        ///< from question to answer, summed
  double busy_seconds = 0;   ///< in which it owed any answer
  double least_seconds = 0;  ///< of its fastest answer; 0: none yet
};

/// A started pull.
class Ticket;

/// The table of each owned node's in-degree without self-loops, a u32, which planes publish themselves when
/// their graphs have the structure of one part only.
inline constexpr std::uint8_t kDegreeTable = 255;

/// Serves published tables and pulls from peers; draws neighbours of owned nodes for them. Thread-safe. Owns
/// a thread for rows and one for neighbours; the transport owns the progress thread. In-flight requests an
/// owner are bounded by credits; more are queued in order.
///
/// Every pull request gets exactly one answer: its rows, or a refusal with the reason. A request for a table
/// that is not published (yet) waits for it during half of the deadline, since ranks reach a step at
/// different times. After the last step, ranks must meet (a barrier) before the first of them destroys its
/// plane: requests that come later are not answered.
class Plane {
 public:
  /// Exchanges addresses, connects, shakes hands; returns when all peers agree and have proven that they know
  /// the run's secret. Errors name the rank, the field and both values, on both sides.
  [[nodiscard]] static Result<std::unique_ptr<Plane>> create(const graph::PartitionedGraph& graph,
                                                             std::unique_ptr<transport::Transport> transport,
                                                             transport::Rendezvous& rendezvous,
                                                             PlaneOptions options);
  /// No other call may be running. Destinations of pulls are not written any more afterwards.
  ~Plane();
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;

  /// Offers rows of the owned nodes (in id order, `row_bytes` each, in one or more runs, memory kept alive by
  /// the caller until withdrawn or destroyed) as `table`. Table 0 is the features, which options.wire may
  /// narrow on their way. Republishing replaces. Both functions wait for the request that is being served
  /// from the table.
  void publish(std::uint8_t table, std::vector<std::span<const std::byte>> runs, std::size_t row_bytes);
  void publish(std::uint8_t table, std::span<const std::byte> rows, std::size_t row_bytes) {
    publish(table, std::vector{rows}, row_bytes);
  }
  void withdraw(std::uint8_t table);

  /// Starts pulling `ids` (ascending, distinct, none owned by this rank) of a table whose rows have
  /// `row_bytes` into `destination`, row i to destination + i x row_bytes: owners are contiguous in ascending
  /// ids, so replies land in place. Does not block. `ids` are not read after the call.
  ///
  /// With `keep`, an owner of the destination memory, replies are received straight into the destination, and
  /// the plane holds `keep` until none can arrive any more; the ticket may be dropped at any time. Without it
  /// the destination must stay valid until wait() returns or abandon() was called, and each reply is copied
  /// once. Either way a reply that comes after a failed wait is discarded.
  [[nodiscard]] std::shared_ptr<Ticket> pull(std::uint8_t table, std::span<const NodeId> ids,
                                             std::size_t row_bytes, std::byte* destination,
                                             std::shared_ptr<const void> keep = nullptr);
  /// Waits until all rows are in place, at most options.deadline beyond the last answer of an owner that
  /// still owes some; errors name the rank and host waited for.
  [[nodiscard]] Result<Transfer> wait(const std::shared_ptr<Ticket>& ticket);
  /// Stops a pull: what was not asked for yet is dropped, wait() returns kCancelled.
  void abandon(const std::shared_ptr<Ticket>& ticket);

  /// Asks the owners of remote nodes for drawn neighbours, one request an owner (several beyond 65,536
  /// nodes). Waits end at most options.deadline beyond the last answer of an owner that still owes one. Each
  /// object is stopped for itself; all are destroyed before the plane.
  [[nodiscard]] std::unique_ptr<sample::RemoteNeighbors> remote_neighbors();

  /// Peers known to be dead, or that do not answer a ping within `patience`: "rank 2 (host b): connection
  /// reset".
  [[nodiscard]] std::vector<std::string> find_failed_peers(Duration patience);
  /// Fails all waits, now and later, with `error`.
  void cancel(const Error& error);
  [[nodiscard]] transport::TransportCounters counters() const;
  /// Of the first ranks, as many as `owners` holds; returns the seconds in which any rows were on their way
  /// here. Waits for nothing and allocates nothing.
  double traffic(std::span<OwnerTraffic> owners) const noexcept;
  /// The type of table 0's rows as they arrive here.
  [[nodiscard]] DType wire_type() const noexcept;
  /// Of the rows that this rank narrowed and sent.
  [[nodiscard]] NarrowingError narrowing_error() const;
  /// Frames that were discarded because they matched nothing expected: malformed, foreign, or answers to
  /// abandoned pulls.
  [[nodiscard]] std::uint64_t discarded_frames() const;
  [[nodiscard]] const PlaneOptions& options() const noexcept;

 private:
  class Impl;
  explicit Plane(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::dataplane

// SPDX-License-Identifier: Apache-2.0
// The answering side: decodes requests, gathers rows, sends them.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/dtype.h"
#include "rudder/core/ids.h"
#include "rudder/core/narrow.h"
#include "rudder/core/result.h"
#include "rudder/transport/transport.h"

#include "dataplane/byte_pool.h"
#include "dataplane/request_thread.h"

namespace rudder::dataplane {

/// Serves the rows of the nodes [begin, end) on a thread of its own; small requests are answered by the
/// caller of enqueue() when none waits, which saves two hand-offs between threads (a third of the time of a
/// one-row pull). Thread-safe.
class Server final : public RequestThread {
 public:
  /// Requests waiting at most; one more is refused. With 64 credits a peer, enough for 64 peers at once.
  static constexpr std::size_t kMaxWaiting = 4096;

  /// Rows answered by the caller of enqueue() at most: a few microseconds of gathering.
  static constexpr std::size_t kInlineBytes = 16384;

  /// `patience`: how long a request waits for its table to be published.
  Server(NodeId begin, NodeId end, Duration patience, transport::Transport& transport, Pools& pools);
  ~Server();

  /// With `narrow` (f16 or bf16) the rows are f32 and are sent as that: narrowed while they are gathered. A
  /// request for a row that does not fit is refused, with the node's name.
  void publish(std::uint8_t table, std::vector<std::span<const std::byte>> runs, std::size_t row_bytes,
               std::optional<DType> narrow = std::nullopt);
  void withdraw(std::uint8_t table);
  /// Of all rows that were narrowed and sent.
  [[nodiscard]] NarrowingError narrowing_error() const;
  /// Bytes of ids that a request for `rows` rows may have; 0 when no request may ask for that many.
  [[nodiscard]] std::size_t max_id_bytes(std::uint32_t rows) const noexcept;
  /// Queues a request, or answers a small one. Doesn't block for longer than gathering kInlineBytes takes.
  void enqueue(PeerRequest request);

 private:
  struct Table {
    std::vector<std::span<const std::byte>> runs;  ///< one after another in id order
    std::size_t row_bytes = 0;                     ///< of these
    std::optional<DType> narrow = std::nullopt;    ///< rows are f32 and sent as this

    [[nodiscard]] std::size_t sent_bytes() const {
      return narrow ? row_bytes / sizeof(float) * size_of(*narrow) : row_bytes;
    }
  };
  struct Parked {
    PeerRequest request;
    TimePoint until;
  };

  [[nodiscard]] std::optional<TimePoint> look_around(std::unique_lock<std::mutex>& lock) override;
  [[nodiscard]] bool accept(PeerRequest& request) override;
  void answer(PeerRequest& request) override;
  void answered() override;

  void serve(PeerRequest& request, const Table& table, std::vector<NodeId>& positions);
  /// Rows at ascending positions, which are used up, of the table's runs.
  [[nodiscard]] Status fill(const Table& table, std::span<NodeId> positions, std::byte* out);
  void replace(std::uint8_t table, Table with);

  const NodeId begin_;
  const NodeId end_;
  const Duration patience_;

  mutable std::mutex error_mutex_;
  NarrowingError error_;

  // Guarded by the mutex.
  std::condition_variable settled_;  ///< serving_ changed
  std::array<Table, 256> tables_;
  std::deque<Parked> parked_;  ///< for tables not published, oldest first
  std::optional<std::uint8_t> serving_;

  std::vector<NodeId> inline_positions_;  ///< of the requested rows in their table; guarded by the mutex
  std::vector<NodeId> positions_;         ///< the same, the thread's
};

}  // namespace rudder::dataplane

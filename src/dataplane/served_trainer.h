// SPDX-License-Identifier: Apache-2.0
// The service's side of one attached trainer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/ids.h"
#include "rudder/core/out_of_memory.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/row_supply.h"
#include "rudder/graph/partition.h"

#include "dataplane/local_socket.h"
#include "dataplane/row_memory.h"
#include "dataplane/service_figures.h"
#include "dataplane/service_wire.h"

namespace rudder::dataplane {

/// A process that has asked to attach, and what it will run.
struct Applicant {
  LocalSocket control;
  LocalSocket rows;
  AttachRequest request;
  LastWords last_words;  ///< to it, goes before its socket

  /// From here on it is told when the program runs out of memory.
  void arm_last_words();
  /// Tells it why it is refused, as far as it listens.
  void refuse(const Error& error);
};

/// Carries frames between one trainer and its end of the buffer. Owns three threads: one reads asks and
/// releases, one offers, one takes and sends. They end when the trainer leaves, when it breaks the protocol,
/// when the buffer fails, or on close().
class ServedTrainer {
 public:
  /// `ended` is called once, by the last of the threads. `nodes`, `owned_*`: as for decode_offer().
  struct Setting {
    std::uint64_t steps = 0;
    NodeId nodes = 0;
    NodeId owned_begin = 0;
    NodeId owned_end = 0;
    std::function<void()> ended;
  };

  ServedTrainer(Applicant applicant, std::unique_ptr<RowSupply> supply,
                std::unique_ptr<TrainerFigures> figures, Setting setting);
  /// Closes and joins.
  ~ServedTrainer();
  ServedTrainer(const ServedTrainer&) = delete;
  ServedTrainer& operator=(const ServedTrainer&) = delete;

  void start();
  void close();
  [[nodiscard]] Rank rank() const noexcept { return applicant_.request.rank; }
  /// True when all threads have ended: it can be destroyed without waiting.
  [[nodiscard]] bool ended() const noexcept { return running_.load(std::memory_order_acquire) == 0; }
  /// Why it ended, when not because all batches were taken. After ended().
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  /// What the buffer did for the batches that this trainer got, after ended().
  [[nodiscard]] const cache::Counts& counts() const noexcept { return counts_; }
  [[nodiscard]] const Transfer& transfer() const noexcept { return transfer_; }

 private:
  void run(Status (ServedTrainer::*work)());
  [[nodiscard]] Status listen();
  [[nodiscard]] Status offer();
  [[nodiscard]] Status send_rows();
  [[nodiscard]] Status announce(const std::shared_ptr<RowBlock>& block);
  [[nodiscard]] Status drop_unused();
  [[nodiscard]] Status send(ServiceFrame frame, std::span<const std::byte> body, int descriptor = -1);
  void fail(const Error& error);

  Applicant applicant_;
  std::unique_ptr<RowSupply> supply_;
  const std::unique_ptr<TrainerFigures> figures_;
  const Setting setting_;
  std::atomic<int> running_{0};
  std::atomic<bool> holding_{false};  ///< rows were sent and not released
  std::atomic<bool> done_{false};     ///< all batches were released
  std::mutex sending_;
  std::mutex mutex_;
  std::optional<Error> failure_;
  // The sending thread's.
  std::map<std::uint64_t, std::weak_ptr<RowBlock>> announced_;
  cache::Counts counts_;
  Transfer transfer_;
  std::vector<std::thread> threads_;
};

}  // namespace rudder::dataplane

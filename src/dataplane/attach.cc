// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/attach.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"

#include "dataplane/local_socket.h"
#include "dataplane/row_memory.h"
#include "dataplane/service_wire.h"

namespace rudder::dataplane {
namespace {

constexpr Duration kReasonPatience = std::chrono::seconds(1);

/// Of one batch: places have 31 bits.
constexpr std::size_t kMaxRows = (std::size_t{1} << 31) - 1;

class ServedSupply final : public RowSupply {
 public:
  ServedSupply(LocalSocket control, LocalSocket rows, std::size_t row_bytes, std::string name,
               Duration deadline)
      : control_(std::move(control)),
        rows_(std::move(rows)),
        row_bytes_(row_bytes),
        name_(std::move(name)),
        deadline_(deadline) {}

  /// What follows the attach frame.
  [[nodiscard]] Status be_welcome(Deadline deadline);

  [[nodiscard]] Status offer(std::vector<NodeId> rows) override;
  void ask() override { tell(ServiceFrame::kAsk); }
  [[nodiscard]] Result<PlacedRows> take() override;
  void release() override { tell(ServiceFrame::kRelease); }
  void stop() override;
  [[nodiscard]] std::string waiting_for() const override { return name_; }
  [[nodiscard]] const SupplyTerms& terms() const override { return terms_; }

 private:
  struct Memory {
    std::unique_ptr<MappedRows> rows;
    std::uint64_t count = 0;  ///< rows that fit
  };

  void tell(ServiceFrame frame);
  [[nodiscard]] Status learn_block(const LocalFrame& frame);
  [[nodiscard]] Result<PlacedRows> place(const LocalFrame& frame, std::size_t rows);
  [[nodiscard]] Error explain(const Error& error) const;
  [[nodiscard]] std::size_t next_rows() const;
  [[nodiscard]] Result<LocalFrame> hear();
  [[nodiscard]] Result<PlacedRows> take_next();

  LocalSocket control_;
  LocalSocket rows_;
  const std::size_t row_bytes_;
  const std::string name_;
  const Duration deadline_;
  SupplyTerms terms_;
  std::map<std::uint64_t, Memory> memory_;  ///< the taking thread's
  std::vector<std::byte> scratch_;          ///< the offering thread's
  mutable std::mutex mutex_;
  std::mutex sending_;              ///< asks and releases come from two threads
  std::deque<std::size_t> counts_;  ///< rows of the batches offered and not taken
  bool stopped_ = false;
  std::optional<Error> end_;  ///< what take() ended with
  std::condition_variable ended_;
};

Error ServedSupply::explain(const Error& error) const {
  const std::lock_guard lock(mutex_);
  return stopped_ ? Error{Errc::kCancelled, "the trainer leaves"} : error.in(name_);
}

void ServedSupply::tell(ServiceFrame frame) {
  const std::lock_guard lock(sending_);
  // A service that is gone says so to take().
  static_cast<void>(control_.send(static_cast<std::uint32_t>(frame), {}));
}

Status ServedSupply::be_welcome(Deadline deadline) {
  auto frame = control_.receive(kMaxControlBytes, deadline);
  if (!frame.ok()) {
    return frame.error().code == Errc::kTimeout
               ? Error{Errc::kTimeout,
                       name_ + " does not answer: the other trainers of this host may not have come"}
               : explain(frame.error());
  }
  if (frame.value().type == static_cast<std::uint32_t>(ServiceFrame::kFailed)) {
    return explain(decode_failure(frame.value().body));
  }
  auto terms = decode_terms(frame.value().body);
  if (frame.value().type != static_cast<std::uint32_t>(ServiceFrame::kWelcome) || !terms.ok()) {
    return Error{Errc::kInvalidData,
                 fmt::format("{} answers nonsense (a frame of type {})", name_, frame.value().type)};
  }
  terms_ = std::move(terms).value();
  return {};
}

Status ServedSupply::offer(std::vector<NodeId> rows) {
  {
    const std::lock_guard lock(mutex_);
    counts_.push_back(rows.size());
  }
  encode_offer(rows, scratch_);
  const Status sent = rows_.send(static_cast<std::uint32_t>(ServiceFrame::kOffer), scratch_);
  if (sent.ok()) {
    return {};
  }
  // Why the service went is what it said last, which the taking thread is about to read.
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, kReasonPatience, [&] { return stopped_ || end_.has_value(); });
  const std::optional<Error> end = end_;
  lock.unlock();
  return end ? *end : explain(sent.error());
}

Result<PlacedRows> ServedSupply::take() {
  auto placed = take_next();
  if (!placed.ok()) {
    const std::lock_guard lock(mutex_);
    end_ = placed.error();
    ended_.notify_all();
  }
  return placed;
}

std::size_t ServedSupply::next_rows() const {
  const std::lock_guard lock(mutex_);
  return counts_.empty() ? 0 : counts_.front();
}

Status ServedSupply::learn_block(const LocalFrame& frame) {
  RUDDER_ASSIGN(const BlockNotice notice, decode_block(frame.body));
  RUDDER_ASSIGN(auto mapped, MappedRows::map(frame.descriptor.get(), static_cast<std::size_t>(notice.bytes)));
  memory_[notice.id] = Memory{std::move(mapped), notice.bytes / row_bytes_};
  return {};
}

Result<PlacedRows> ServedSupply::place(const LocalFrame& frame, std::size_t rows) {
  RUDDER_ASSIGN(RowsNotice notice, decode_rows(frame.body, rows));
  const auto slots = memory_.find(notice.slot_block);
  const auto staging = memory_.find(notice.staging_block);
  const std::uint64_t slot_rows = slots == memory_.end() ? 0 : slots->second.count;
  const std::uint64_t staged_rows = staging == memory_.end() ? 0 : staging->second.count;
  for (const cache::RowSource place : notice.places) {
    if (place.place >= (place.staged ? staged_rows : slot_rows)) {
      return Error{Errc::kInvalidData,
                   fmt::format("row place {} of {}", place.place, place.staged ? staged_rows : slot_rows)};
    }
  }
  PlacedRows placed;
  placed.step = notice.step;
  placed.places = std::move(notice.places);
  placed.slots = slots == memory_.end() ? nullptr : slots->second.rows->data();
  placed.staging = staging == memory_.end() ? nullptr : staging->second.rows->data();
  placed.counts = notice.counts;
  placed.transfer = notice.transfer;
  return placed;
}

/// The next frame. The service may wait for its other trainers and for other hosts as long as it likes, but
/// answers a ping meanwhile.
Result<LocalFrame> ServedSupply::hear() {
  if (!control_.readable(Deadline::in(deadline_ / 2))) {
    tell(ServiceFrame::kPing);
    if (!control_.readable(Deadline::in(deadline_ / 2))) {
      return Error{Errc::kTimeout, fmt::format("no answer within {:.1f} s", to_seconds(deadline_ / 2))};
    }
  }
  // How many rows the next batch has is known for certain only when they come.
  return control_.receive(rows_bytes(kMaxRows), Deadline::in(deadline_));
}

Result<PlacedRows> ServedSupply::take_next() {
  for (;;) {
    auto frame = hear();
    if (!frame.ok()) {
      return explain(frame.error());
    }
    switch (static_cast<ServiceFrame>(frame.value().type)) {
      case ServiceFrame::kBlock: {
        const Status learnt = learn_block(frame.value());
        if (!learnt.ok()) {
          return explain(learnt.error());
        }
        break;
      }
      case ServiceFrame::kDrop: {
        const auto dropped = decode_block(frame.value().body);
        if (dropped.ok()) {
          memory_.erase(dropped.value().id);
        }
        break;
      }
      case ServiceFrame::kRows: {
        auto placed = place(frame.value(), next_rows());
        if (!placed.ok()) {
          return explain(placed.error());
        }
        const std::lock_guard lock(mutex_);
        counts_.pop_front();
        return placed;
      }
      case ServiceFrame::kPong:
        break;
      case ServiceFrame::kFailed:
        return explain(decode_failure(frame.value().body));
      default:
        return explain(Error{Errc::kInvalidData, fmt::format("a frame of type {}", frame.value().type)});
    }
  }
}

void ServedSupply::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  ended_.notify_all();
  control_.shut_down();
  rows_.shut_down();
}

}  // namespace

Result<std::unique_ptr<RowSupply>> attach(const graph::PartitionedGraph& graph, Rank rank,
                                          const RunShape& run, const std::filesystem::path& socket,
                                          Duration deadline) {
  RUDDER_ASSIGN(LocalSocket control, LocalSocket::connect(socket, Deadline::in(deadline)));
  RUDDER_ASSIGN(auto rows, LocalSocket::pair());
  const auto request = encode_attach(
      {.rank = rank, .graph_digest = graph.graph_digest(), .partition_digest = graph.digest(), .run = run});
  const std::string name = "service at " + socket.string();
  const Status sent =
      control.send(static_cast<std::uint32_t>(ServiceFrame::kAttach), request, rows.second.get());
  if (!sent.ok()) {
    return sent.error().in(name);
  }
  auto supply = std::make_unique<ServedSupply>(std::move(control), std::move(rows.first), graph.row_bytes(),
                                               name, deadline);
  RUDDER_TRY(supply->be_welcome(Deadline::in(2 * deadline)));
  const SupplyTerms& terms = supply->terms();
  if (rank < terms.first_part || rank - terms.first_part >= terms.parts ||
      terms.parts > graph.book().parts() - terms.first_part) {
    return Error{Errc::kInvalidData,
                 fmt::format("{} has parts {} to {} of {}, not {}", name, terms.first_part,
                             std::uint64_t{terms.first_part} + terms.parts - 1, graph.book().parts(), rank)};
  }
  return std::unique_ptr<RowSupply>(std::move(supply));
}

}  // namespace rudder::dataplane

// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/observer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/rng.h"

#include "steer/asked_rows.h"

namespace rudder::steer {
namespace {

constexpr std::size_t kMaxRows = std::size_t{1} << 32;
constexpr std::size_t kMaxRing = 4096;

std::uint64_t hash_of(NodeId row) {
  return mix64(static_cast<std::uint64_t>(row));
}

}  // namespace

class Observer::Impl {
 public:
  explicit Impl(const ObserverOptions& options)
      : options_(options),
        // The hash's high bits choose who is followed, the low ones where it is remembered.
        skipped_bits_(options.follow == 1 ? 0 : ~std::uint64_t{0} << (65 - std::bit_width(options.follow))),
        asked_(options.rows / options.follow),
        slot_window_(options.slots, 0),
        ring_(options.windows) {
    begin();
  }

  void batch(const ObservedBatch& batch) noexcept {
    if (batches_ > 0 && window_.training != batch.training) {
      end_window();
    }
    if (batches_ == 0) {
      window_.first = batch.step;
      window_.training = batch.training;
    }
    window_.end = batch.step + 1;
    add_times(batch);
    follow_requests(batch);
    follow_admissions(batch);
    window_.counts += batch.counts;
    window_.slots = batch.slots;
    window_.resident = batch.resident;
    window_.known_ahead = batch.known_ahead;
    window_.wire_bytes += batch.wire_bytes;
    moving_seconds_ += batch.moving_seconds;
    add_owners(batch.owners);
    if (++batches_ == options_.batches) {
      end_window();
    }
  }

  void holds(std::size_t action) noexcept {
    if (action != action_) {
      end_window();
      action_ = action;
      window_.action = action;
    }
  }

  void end_window() noexcept {
    if (batches_ == 0) {
      return;
    }
    window_.stale = window_.resident - std::min(window_.resident, used_slots_ * options_.follow);
    window_.fresh = std::min(fresh_ * options_.follow, window_.counts.requests);
    window_.link_bytes_per_second =
        moving_seconds_ > 0 ? static_cast<double>(window_.wire_bytes) / moving_seconds_ : 0;
    if (options_.host != nullptr) {
      busy_ = options_.host->busy().value_or(busy_);
      window_.device = options_.host->device();
    }
    window_.busy = busy_;
    ring_.push(window_);
    asked_.next_window();
    ++sequence_;
    begin();
  }

  [[nodiscard]] WindowRing& ring() noexcept { return ring_; }
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return asked_.forgotten(); }

 private:
  void begin() noexcept {
    window_ = Window{};
    window_.sequence = sequence_;
    window_.steps_total = options_.steps_total;
    window_.action = action_;
    window_.owners = options_.owners;
    window_.self = options_.self;
    batches_ = 0;
    used_slots_ = 0;
    fresh_ = 0;
    moving_seconds_ = 0;
  }

  void add_times(const ObservedBatch& batch) noexcept {
    window_.seconds += batch.times.total();
    window_.compute_seconds += batch.times.compute;
    window_.all_reduce_seconds += batch.times.all_reduce;
    window_.stall_seconds += batch.times.stall;
    window_.ready = batch.ready;
    window_.waiting = batch.waiting;
  }

  void add_owners(std::span<const OwnerLoad> owners) noexcept {
    for (std::size_t i = 0; i < owners.size(); ++i) {
      OwnerLoad& load = window_.owner[std::min(i, kMaxOwners - 1)];
      load.rows += owners[i].rows;
      load.seconds += owners[i].seconds;
      load.answers += owners[i].answers;
    }
  }

  [[nodiscard]] bool is_followed(std::uint64_t hash) const noexcept { return (hash & skipped_bits_) == 0; }

  /// Notes rows and the slots that they were hit in, some at a time, so that their memory is on its way
  /// before it is needed.
  void follow_requests(const ObservedBatch& batch) noexcept {
    constexpr std::size_t kAtOnce = 16;
    RUDDER_DCHECK(batch.sources.size() == batch.rows.size(), "one source a row");
    std::array<std::uint64_t, kAtOnce> hashes;
    std::array<std::size_t, kAtOnce> places;
    for (std::size_t i = 0; i < batch.rows.size();) {
      std::size_t count = 0;
      for (; i < batch.rows.size() && count < kAtOnce; ++i) {
        if (const std::uint64_t hash = hash_of(batch.rows[i]); is_followed(hash)) {
          hashes[count] = hash;
          places[count++] = i;
          asked_.prefetch(hash);
          if (!batch.sources[i].staged) {
            __builtin_prefetch(&slot_window_[batch.sources[i].place], 1);
          }
        }
      }
      for (std::size_t k = 0; k < count; ++k) {
        fresh_ += asked_.ask(batch.rows[places[k]], hashes[k]) ? 1U : 0U;
        const cache::RowSource& source = batch.sources[places[k]];
        if (!source.staged) {
          set_used(source.place, true);
        }
      }
    }
  }

  void follow_admissions(const ObservedBatch& batch) noexcept {
    for (const SlotId slot : batch.freed) {
      set_used(slot, false);
    }
    for (const cache::Admission& admission : batch.admissions) {
      const NodeId row = batch.fetch[admission.staged];
      const std::uint64_t hash = hash_of(row);
      set_used(admission.slot, is_followed(hash) && asked_.asked(row, hash));
    }
  }

  /// Whether the slot's row is one that this window has asked for.
  void set_used(SlotId slot, bool used) noexcept {
    RUDDER_DCHECK(slot < slot_window_.size(), "a slot beyond the observer's");
    const auto now = static_cast<std::uint32_t>(sequence_ + 1);
    used_slots_ -= slot_window_[slot] == now ? 1U : 0U;
    slot_window_[slot] = used ? now : 0;
    used_slots_ += used ? 1U : 0U;
  }

  const ObserverOptions options_;
  const std::uint64_t skipped_bits_;
  AskedRows asked_;
  std::vector<std::uint32_t> slot_window_;  ///< by slot: 1 + the last window that asked for its row, or 0
  WindowRing ring_;

  Window window_;
  std::uint64_t sequence_ = 0;
  std::size_t action_ = 0;
  std::uint32_t batches_ = 0;     ///< in the window so far
  std::uint64_t used_slots_ = 0;  ///< slots whose row is followed, and asked for in this window
  std::uint64_t fresh_ = 0;       ///< requests of followed rows
  double moving_seconds_ = 0;
  double busy_ = 0;
};

namespace {

Status check(const ObserverOptions& options) {
  const auto within = [](std::string_view name, std::uint64_t value, std::uint64_t low,
                         std::uint64_t high) -> Status {
    if (value < low || value > high) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("observer: {} {} is not within {}..{}", name, value, low, high)};
    }
    return {};
  };
  RUDDER_TRY(within("batches", options.batches, 1, 1U << 20));
  RUDDER_TRY(within("slots", options.slots, 0, kNoSlot));
  RUDDER_TRY(within("rows", options.rows, 1, kMaxRows));
  RUDDER_TRY(within("windows", options.windows, 1, kMaxRing));
  RUDDER_TRY(within("follow", options.follow, 1, 1U << 16));
  if (!std::has_single_bit(options.follow)) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("observer: follow {} is not a power of 2", options.follow)};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Observer>> Observer::create(const ObserverOptions& options) {
  RUDDER_TRY(check(options));
  return std::unique_ptr<Observer>(new Observer(std::make_unique<Impl>(options)));
}

Observer::Observer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Observer::~Observer() = default;

void Observer::batch(const ObservedBatch& batch) noexcept {
  impl_->batch(batch);
}
void Observer::holds(std::size_t action) noexcept {
  impl_->holds(action);
}
void Observer::end_window() noexcept {
  impl_->end_window();
}
WindowRing& Observer::ring() noexcept {
  return impl_->ring();
}
std::uint64_t Observer::forgotten() const noexcept {
  return impl_->forgotten();
}

}  // namespace rudder::steer

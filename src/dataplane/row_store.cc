// SPDX-License-Identifier: Apache-2.0
#include "dataplane/row_store.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"

namespace rudder::dataplane {
namespace {

/// The fill is fetched in pieces of this size, two at a time, so that it needs little staging memory.
constexpr std::size_t kFillPieceBytes = std::size_t{8} << 20;
constexpr std::size_t kFillPieces = 2;
/// Staging memory grows by at least this factor, so that batches of slightly different sizes share blocks.
constexpr double kGrowth = 1.25;

}  // namespace

std::shared_ptr<Ticket> RunningPulls::pull(std::span<const NodeId> ids, std::size_t row_bytes,
                                           std::byte* destination, std::shared_ptr<const void> keep) {
  auto ticket = plane_.pull(0, ids, row_bytes, destination, std::move(keep));
  const std::lock_guard lock(mutex_);
  if (stopped_) {
    plane_.abandon(ticket);
  } else {
    running_.push_back(ticket);
  }
  return ticket;
}

Result<Transfer> RunningPulls::wait(const std::shared_ptr<Ticket>& ticket) {
  auto moved = plane_.wait(ticket);
  const std::lock_guard lock(mutex_);
  std::erase(running_, ticket);
  return moved;
}

void RunningPulls::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (const auto& ticket : running_) {
    plane_.abandon(ticket);
  }
}

RowStore::RowStore(Plane& plane, std::size_t row_bytes, RowMemory& memory, std::shared_ptr<RowBlock> slots)
    : row_bytes_(row_bytes), memory_(memory), slots_(std::move(slots)), pulls_(plane) {}

Result<std::unique_ptr<RowStore>> RowStore::create(Plane& plane, std::size_t row_bytes, SlotId slots,
                                                   RowMemory& memory) {
  auto block = memory.allocate(std::size_t{slots} * row_bytes);
  if (!block.ok()) {
    return block.error().in(fmt::format("a buffer of {} rows", slots));
  }
  return std::unique_ptr<RowStore>(new RowStore(plane, row_bytes, memory, std::move(block).value()));
}

Result<std::shared_ptr<RowBlock>> RowStore::take_staging(std::size_t bytes) {
  {
    const std::lock_guard lock(staging_mutex_);
    if (!staging_.empty() && staging_.back()->size() >= bytes) {
      auto staging = std::move(staging_.back());
      staging_.pop_back();
      return staging;
    }
    if (!staging_.empty()) {
      bytes =
          std::max(bytes, static_cast<std::size_t>(static_cast<double>(staging_.back()->size()) * kGrowth));
      staging_.pop_back();  // too small: the larger one takes its place
    }
  }
  auto block = memory_.allocate(bytes);
  return block.ok() ? std::move(block) : block.error().in("staging memory");
}

void RowStore::give_staging(std::shared_ptr<RowBlock> staging) {
  // Every pull into it has been waited for successfully, so nothing writes to it any more.
  const std::lock_guard lock(staging_mutex_);
  staging_.push_back(std::move(staging));
}

void RowStore::put(SlotId slot, const std::byte* row) noexcept {
  std::memcpy(slots_->data() + std::size_t{slot} * row_bytes_, row, row_bytes_);
}

Status RowStore::start(Fetch& fetch) {
  const cache::Plan& plan = fetch.plan;
  if (plan.fill || plan.fetch.empty()) {
    return {};
  }
  RUDDER_ASSIGN(fetch.staging, take_staging(plan.fetch.size() * row_bytes_));
  fetch.prompt =
      pulls_.pull(std::span(plan.fetch).first(plan.prompt), row_bytes_, fetch.staging->data(), fetch.staging);
  return {};
}

Result<Transfer> RowStore::wait(Fetch& fetch) {
  const cache::Plan& plan = fetch.plan;
  if (plan.fetch.empty()) {
    return Transfer{};
  }
  std::shared_ptr<Ticket> deferred;
  if (plan.prompt < plan.fetch.size()) {
    deferred = pulls_.pull(std::span(plan.fetch).subspan(plan.prompt), row_bytes_,
                           fetch.staging->data() + plan.prompt * row_bytes_, fetch.staging);
  }
  auto moved = pulls_.wait(fetch.prompt);
  fetch.prompt.reset();
  if (moved.ok() && deferred != nullptr) {
    auto more = pulls_.wait(deferred);
    if (more.ok()) {
      moved.value() += more.value();
    } else {
      moved = std::move(more);
    }
  }
  return moved.ok() ? std::move(moved)
                    : moved.error().in(fmt::format("fetching rows of batch {}", plan.step));
}

void RowStore::admit(Fetch& fetch) {
  for (const cache::Admission& admission : fetch.plan.admissions) {
    put(admission.slot, fetch.staging->data() + admission.staged * row_bytes_);
  }
  if (fetch.staging != nullptr) {
    give_staging(std::move(fetch.staging));
  }
}

Result<Transfer> RowStore::fill(const cache::Plan& plan) {
  RUDDER_CHECK(plan.fill && plan.prompt == plan.fetch.size(), "nothing comes before the fill");
  std::vector<SlotId> slots(plan.fetch.size(), kNoSlot);
  for (const cache::Admission& admission : plan.admissions) {
    slots[admission.staged] = admission.slot;
  }
  const std::size_t most = std::max<std::size_t>(1, kFillPieceBytes / row_bytes_);
  Transfer moved;
  std::deque<Piece> pieces;
  std::size_t asked = 0;
  std::size_t done = 0;
  while (done < plan.fetch.size()) {
    while (asked < plan.fetch.size() && pieces.size() < kFillPieces) {
      Piece piece{asked, std::min(most, plan.fetch.size() - asked), nullptr, nullptr};
      RUDDER_ASSIGN(piece.staging, take_staging(piece.rows * row_bytes_));
      piece.ticket = pulls_.pull(std::span(plan.fetch).subspan(piece.first, piece.rows), row_bytes_,
                                 piece.staging->data(), piece.staging);
      asked += piece.rows;
      pieces.push_back(std::move(piece));
    }
    Piece piece = std::move(pieces.front());
    pieces.pop_front();
    const auto arrived = pulls_.wait(piece.ticket);
    if (!arrived.ok()) {
      return arrived.error().in("filling the buffer");
    }
    moved += arrived.value();
    for (std::size_t i = 0; i < piece.rows; ++i) {
      if (slots[piece.first + i] != kNoSlot) {
        put(slots[piece.first + i], piece.staging->data() + i * row_bytes_);
      }
    }
    done += piece.rows;
    give_staging(std::move(piece.staging));
  }
  return moved;
}

}  // namespace rudder::dataplane

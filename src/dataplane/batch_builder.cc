// SPDX-License-Identifier: Apache-2.0
#include "dataplane/batch_builder.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/gather.h"
#include "rudder/core/machine.h"
#include "rudder/core/text.h"

namespace rudder::dataplane {
namespace {

/// The fill is fetched in pieces of this size, two at a time, so that it needs little staging memory.
constexpr std::size_t kFillPieceBytes = std::size_t{8} << 20;
constexpr std::size_t kFillPieces = 2;

}  // namespace

std::shared_ptr<Ticket> RunningPulls::pull(std::span<const NodeId> ids, std::size_t row_bytes,
                                           std::byte* destination,
                                           const std::shared_ptr<AlignedBytes>& keep) {
  auto ticket = plane_.pull(0, ids, row_bytes, destination, keep);
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

BatchBuilder::BatchBuilder(const FeedInputs& inputs, SlotId slots)
    : part_(inputs.part),
      row_bytes_(inputs.graph.row_bytes()),
      buffer_(slots * row_bytes_),
      pulls_(inputs.plane) {}

Result<std::unique_ptr<BatchBuilder>> BatchBuilder::create(const FeedInputs& inputs, SlotId slots) {
  const std::size_t bytes = std::size_t{slots} * inputs.graph.row_bytes();
  const std::size_t available = available_memory_bytes();
  if (bytes > available) {
    return Error{Errc::kResource, fmt::format("a buffer of {} rows takes {}, {} are available", slots,
                                              human_bytes(static_cast<double>(bytes)),
                                              human_bytes(static_cast<double>(available)))};
  }
  return std::unique_ptr<BatchBuilder>(new BatchBuilder(inputs, slots));
}

std::shared_ptr<AlignedBytes> BatchBuilder::take_staging(std::size_t bytes) {
  std::shared_ptr<AlignedBytes> staging;
  {
    const std::lock_guard lock(staging_mutex_);
    if (!staging_.empty()) {
      staging = std::move(staging_.back());
      staging_.pop_back();
    }
  }
  if (staging == nullptr) {
    staging = std::make_shared<AlignedBytes>();
  }
  staging->ensure(bytes);
  return staging;
}

void BatchBuilder::give_staging(std::shared_ptr<AlignedBytes> staging) {
  // Every pull into it has been waited for successfully, so nothing writes to it any more.
  const std::lock_guard lock(staging_mutex_);
  staging_.push_back(std::move(staging));
}

void BatchBuilder::start(Work& work) {
  const cache::Plan& plan = work.plan;
  if (plan.fill || plan.fetch.empty()) {
    return;
  }
  work.staging = take_staging(plan.fetch.size() * row_bytes_);
  work.prompt =
      pulls_.pull(std::span(plan.fetch).first(plan.prompt), row_bytes_, work.staging->data(), work.staging);
}

Status BatchBuilder::fetch(Work& work, Transfer& moved) {
  const cache::Plan& plan = work.plan;
  if (plan.fetch.empty()) {
    return {};
  }
  std::shared_ptr<Ticket> deferred;
  if (plan.prompt < plan.fetch.size()) {
    deferred = pulls_.pull(std::span(plan.fetch).subspan(plan.prompt), row_bytes_,
                           work.staging->data() + plan.prompt * row_bytes_, work.staging);
  }
  RUDDER_ASSIGN(moved, pulls_.wait(work.prompt));
  work.prompt.reset();
  if (deferred != nullptr) {
    RUDDER_ASSIGN(const Transfer more, pulls_.wait(deferred));
    moved += more;
  }
  return {};
}

Result<Batch> BatchBuilder::finish(Work& work) {
  Batch batch;
  const Status fetched = fetch(work, batch.transfer);
  if (!fetched.ok()) {
    return fetched.error().in(fmt::format("fetching rows of batch {}", work.plan.step));
  }
  batch.step = work.plan.step;
  batch.rows = rows_.take(work.sampled.nodes.size() * row_bytes_);
  gather(work, batch.rows.data());
  admit(work);
  if (work.staging != nullptr) {
    give_staging(std::move(work.staging));
  }
  batch.counts = work.plan.counts;
  batch.counts += std::exchange(fill_counts_, {});
  batch.transfer += std::exchange(fill_moved_, {});
  batch.labels.reserve(work.sampled.seeds);
  for (LocalId i = 0; i < work.sampled.seeds; ++i) {
    batch.labels.push_back(part_.labels()[static_cast<std::size_t>(work.sampled.nodes[i] - part_.begin())]);
  }
  batch.sampled = std::move(work.sampled);
  return batch;
}

void BatchBuilder::gather(const Work& work, std::byte* out) {
  const std::vector<NodeId>& nodes = work.sampled.nodes;
  sources_.resize(nodes.size());
  const std::byte* const owned = part_.features().data();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // Remote nodes get a wrong address here, replaced below: cheaper than telling them apart. As a number,
    // since it may lie outside of the array.
    sources_[i] = reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(owned) +
                                                     static_cast<std::uintptr_t>(nodes[i] - part_.begin()) *
                                                         row_bytes_);
  }
  const cache::Plan& plan = work.plan;
  for (std::size_t j = 0; j < plan.rows.size(); ++j) {
    const cache::RowSource source = plan.sources[j];
    sources_[work.positions[j]] =
        source.staged ? work.staging->data() + source.place * row_bytes_ : slot(source.place);
  }
  gather_rows(sources_, row_bytes_, out);
}

void BatchBuilder::admit(const Work& work) {
  for (const cache::Admission& admission : work.plan.admissions) {
    std::memcpy(slot(admission.slot), work.staging->data() + admission.staged * row_bytes_, row_bytes_);
  }
}

Status BatchBuilder::fill(const Work& work) {
  const cache::Plan& plan = work.plan;
  RUDDER_CHECK(plan.fill && plan.prompt == plan.fetch.size(), "nothing comes before the fill");
  std::vector<SlotId> slots(plan.fetch.size(), kNoSlot);
  for (const cache::Admission& admission : plan.admissions) {
    slots[admission.staged] = admission.slot;
  }
  const std::size_t most = std::max<std::size_t>(1, kFillPieceBytes / row_bytes_);
  std::deque<Piece> pieces;
  std::size_t asked = 0;
  std::size_t done = 0;
  while (done < plan.fetch.size()) {
    while (asked < plan.fetch.size() && pieces.size() < kFillPieces) {
      Piece piece{asked, std::min(most, plan.fetch.size() - asked), nullptr, nullptr};
      piece.staging = take_staging(piece.rows * row_bytes_);
      piece.ticket = pulls_.pull(std::span(plan.fetch).subspan(piece.first, piece.rows), row_bytes_,
                                 piece.staging->data(), piece.staging);
      asked += piece.rows;
      pieces.push_back(std::move(piece));
    }
    Piece piece = std::move(pieces.front());
    pieces.pop_front();
    const auto moved = pulls_.wait(piece.ticket);
    if (!moved.ok()) {
      return moved.error().in("filling the buffer");
    }
    fill_moved_ += moved.value();
    for (std::size_t i = 0; i < piece.rows; ++i) {
      if (slots[piece.first + i] != kNoSlot) {
        std::memcpy(slot(slots[piece.first + i]), piece.staging->data() + i * row_bytes_, row_bytes_);
      }
    }
    done += piece.rows;
    piece.ticket.reset();
    give_staging(std::move(piece.staging));
  }
  fill_counts_ = plan.counts;
  return {};
}

}  // namespace rudder::dataplane

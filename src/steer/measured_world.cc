// SPDX-License-Identifier: Apache-2.0
#include "steer/measured_world.h"

#include <algorithm>

namespace rudder::steer {
namespace {

constexpr double kUnknownLink = 125e6;    // bytes a second, until something has moved
constexpr double kLeastRate = 1;          // the model divides by it
constexpr double kLeastMovingShare = .1;  // of the time while rows moved, whatever round trips took

}  // namespace

Traffic difference(const Traffic& now, const Traffic& before) noexcept {
  Traffic moved;
  moved.moving_seconds = std::max(0.0, now.moving_seconds - before.moving_seconds);
  for (std::size_t i = 0; i < kMaxOwners; ++i) {
    const OwnerTotals& a = now.owner[i];
    const OwnerTotals& b = before.owner[i];
    moved.owner[i] = {.rows = a.rows - std::min(a.rows, b.rows),
                      .answers = a.answers - std::min(a.answers, b.answers),
                      .seconds = std::max(0.0, a.seconds - b.seconds),
                      .busy_seconds = std::max(0.0, a.busy_seconds - b.busy_seconds),
                      .least_seconds = a.least_seconds};
  }
  return moved;
}

MeasuredWorld::MeasuredWorld(const PilotOptions& options)
    : options_(options), gradient_bytes_(options.gradient_bytes) {
  now_.link_bytes_per_second = kUnknownLink;
  now_.row_bytes = std::max(1.0, options.row_bytes);
  now_.owner_bytes_per_second.assign(options.owners.size() - 1, kUnknownLink);
}

void MeasuredWorld::add(const TrainedBatch& batch, const Traffic& moved, std::uint64_t rows) {
  rows_ += rows;
  wire_bytes_ += batch.wire_bytes;
  transfers_ += moved.moving_seconds > 0 ? 1U : 0U;
  moving_seconds_ += moved.moving_seconds;
  if (batch.averaged && (least_all_reduce_ == 0 || batch.times.all_reduce < least_all_reduce_)) {
    least_all_reduce_ = batch.times.all_reduce;
  }
  for (std::size_t i = 0; i < kMaxOwners; ++i) {
    owner_[i].rows += moved.owner[i].rows;
    moved_rows_ += moved.owner[i].rows;
    owner_[i].busy_seconds += moved.owner[i].busy_seconds;
    const double least = moved.owner[i].least_seconds;
    if (least > 0 && (round_trip_ == 0 || least < round_trip_)) {
      round_trip_ = least;
    }
  }
}

Conditions MeasuredWorld::end_window() {
  now_.round_trip_seconds = round_trip_;
  if (rows_ > 0 && wire_bytes_ > 0) {
    now_.row_bytes = static_cast<double>(wire_bytes_) / static_cast<double>(rows_);
  }
  moved_ = moved_rows_ > 0 && moving_seconds_ > 0;
  if (moved_) {
    const double moving = std::max(kLeastMovingShare * moving_seconds_,
                                   moving_seconds_ - static_cast<double>(transfers_) * round_trip_);
    now_.link_bytes_per_second =
        std::max(kLeastRate, static_cast<double>(moved_rows_) * now_.row_bytes / moving);
  }
  for (std::size_t i = 0; i < now_.owner_bytes_per_second.size() && i < kMaxOwners; ++i) {
    if (owner_[i].rows > 0 && owner_[i].busy_seconds > 0) {
      now_.owner_bytes_per_second[i] =
          std::max(kLeastRate, static_cast<double>(owner_[i].rows) * now_.row_bytes / owner_[i].busy_seconds);
    }
  }
  if (least_all_reduce_ > 0) {
    gradient_bytes_ = std::min(options_.gradient_bytes, least_all_reduce_ * now_.link_bytes_per_second);
  }
  rows_ = wire_bytes_ = moved_rows_ = transfers_ = 0;
  moving_seconds_ = least_all_reduce_ = 0;
  owner_ = {};
  return now_;
}

}  // namespace rudder::steer

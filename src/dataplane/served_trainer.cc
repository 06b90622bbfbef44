// SPDX-License-Identifier: Apache-2.0
#include "dataplane/served_trainer.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/machine.h"

namespace rudder::dataplane {
namespace {

/// Longest wait for a trainer to take in why it is let go.
constexpr Duration kPartingPatience = std::chrono::milliseconds(200);

std::uint32_t number(ServiceFrame frame) {
  return static_cast<std::uint32_t>(frame);
}

}  // namespace

void Applicant::arm_last_words() {
  last_words = LastWords(
      control.get(), encode_frame(number(ServiceFrame::kFailed),
                                  encode_failure({Errc::kResource, "the service has run out of memory"})));
}

void Applicant::refuse(const Error& error) {
  static_cast<void>(control.send(number(ServiceFrame::kFailed), encode_failure(error)));
}

ServedTrainer::ServedTrainer(Applicant applicant, std::unique_ptr<RowSupply> supply,
                             std::unique_ptr<TrainerFigures> figures, Setting setting)
    : applicant_(std::move(applicant)),
      supply_(std::move(supply)),
      figures_(std::move(figures)),
      setting_(std::move(setting)) {}

ServedTrainer::~ServedTrainer() {
  close();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ServedTrainer::start() {
  constexpr std::array kWork = {&ServedTrainer::listen, &ServedTrainer::offer, &ServedTrainer::send_rows};
  running_.store(static_cast<int>(kWork.size()), std::memory_order_relaxed);
  for (const auto work : kWork) {
    threads_.emplace_back([this, work] { run(work); });
  }
}

void ServedTrainer::close() {
  supply_->stop();
  applicant_.control.shut_down();
  applicant_.rows.shut_down();
}

/// Work that ends without an error leaves the other two running: there may be more to send or to hear.
void ServedTrainer::run(Status (ServedTrainer::*work)()) {
  name_this_thread(fmt::format("rudder-host{}", rank()));
  const Status ended = (this->*work)();
  if (!ended.ok()) {
    fail(ended.error());
  }
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    setting_.ended();
  }
}

Status ServedTrainer::send(ServiceFrame frame, std::span<const std::byte> body, int descriptor) {
  const std::lock_guard lock(sending_);
  return applicant_.control.send(number(frame), body, descriptor);
}

/// The first failure is told to the trainer, unless that is not reading what it is being sent already.
void ServedTrainer::fail(const Error& error) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_ && !done_.load(std::memory_order_relaxed)) {
      failure_ = error;
      first = true;
    }
  }
  if (first && error.code != Errc::kCancelled) {
    const std::unique_lock lock(sending_, std::try_to_lock);
    if (lock.owns_lock()) {
      applicant_.control.limit_sends(kPartingPatience);
      applicant_.refuse(error);
    }
  }
  close();
}

Status ServedTrainer::listen() {
  std::uint64_t asked = 0;
  for (std::uint64_t released = 0; released < setting_.steps;) {
    RUDDER_ASSIGN(const LocalFrame frame, applicant_.control.receive(0));
    if (frame.type == number(ServiceFrame::kAsk) && asked < setting_.steps) {
      ++asked;
      figures_->asked();
      supply_->ask();
    } else if (frame.type == number(ServiceFrame::kRelease) && holding_.exchange(false)) {
      figures_->released();
      supply_->release();
      ++released;
    } else if (frame.type == number(ServiceFrame::kPing)) {
      RUDDER_TRY(send(ServiceFrame::kPong, {}));
    } else {
      return Error{Errc::kInvalidData, fmt::format("a frame of type {} out of turn", frame.type)};
    }
  }
  done_.store(true, std::memory_order_relaxed);
  // Nothing more to hear: returns when the trainer has left.
  const auto end = applicant_.control.receive(0);
  return end.ok() ? Error{Errc::kInvalidData,
                          fmt::format("a frame of type {} after the last batch", end.value().type)}
                  : end.error();
}

Status ServedTrainer::offer() {
  const std::size_t most = max_offer_bytes(setting_.nodes);
  for (std::uint64_t i = 0; i < setting_.steps; ++i) {
    RUDDER_ASSIGN(const LocalFrame frame, applicant_.rows.receive(most));
    if (frame.type != number(ServiceFrame::kOffer)) {
      return Error{Errc::kInvalidData, fmt::format("a frame of type {} instead of an offer", frame.type)};
    }
    RUDDER_ASSIGN(auto rows,
                  decode_offer(frame.body, setting_.nodes, setting_.owned_begin, setting_.owned_end));
    RUDDER_TRY(supply_->offer(std::move(rows)));
  }
  return {};
}

/// Makes a block known to the trainer, once.
Status ServedTrainer::announce(const std::shared_ptr<RowBlock>& block) {
  if (block == nullptr || announced_.contains(block->id())) {
    return {};
  }
  RUDDER_TRY(send(ServiceFrame::kBlock, encode_block({block->id(), block->size()}), block->descriptor()));
  announced_[block->id()] = block;
  return {};
}

/// Lets the trainer unmap what larger memory has replaced.
Status ServedTrainer::drop_unused() {
  for (auto at = announced_.begin(); at != announced_.end();) {
    if (!at->second.expired()) {
      ++at;
      continue;
    }
    RUDDER_TRY(send(ServiceFrame::kDrop, encode_block({at->first, 0})));
    at = announced_.erase(at);
  }
  return {};
}

Status ServedTrainer::send_rows() {
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < setting_.steps; ++i) {
    RUDDER_ASSIGN(PlacedRows rows, supply_->take());
    counts_ += rows.counts;
    transfer_ += rows.transfer;
    figures_->given(rows.places.size(), rows.counts, rows.transfer);
    RUDDER_TRY(drop_unused());
    RUDDER_TRY(announce(rows.slot_memory));
    RUDDER_TRY(announce(rows.staging_memory));
    encode_rows(
        {.step = rows.step,
         .slot_block = rows.slot_memory->id(),
         .staging_block = rows.staging_memory == nullptr ? rows.slot_memory->id() : rows.staging_memory->id(),
         .counts = rows.counts,
         .transfer = rows.transfer,
         .places = std::move(rows.places)},
        bytes);
    holding_.store(true);
    RUDDER_TRY(send(ServiceFrame::kRows, bytes));
  }
  return {};
}

}  // namespace rudder::dataplane

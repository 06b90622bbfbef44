// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rudder/steer/guard.h"

namespace rudder::steer {
namespace {

constexpr std::uint32_t kMostRests = 16;

}  // namespace

bool Breaker::lets_through(TimePoint now) {
  if (state_ == State::kOpen && now >= until_) {
    state_ = State::kHalfOpen;
    return true;
  }
  return state_ == State::kClosed;
}

void Breaker::succeeded() {
  if (state_ == State::kOpen) {
    return;
  }
  state_ = State::kClosed;
  failures_ = 0;
  dropped_ = 0;
  rests_ = 1;
}

void Breaker::failed(TimePoint now) {
  if (state_ == State::kHalfOpen || (state_ == State::kClosed && ++failures_ >= options_.failures)) {
    open(now);
  }
}

void Breaker::was_dropped(TimePoint now) {
  if (state_ == State::kClosed) {
    failures_ = 0;
  }
  if (state_ == State::kHalfOpen || (state_ == State::kClosed && ++dropped_ >= options_.dropped)) {
    open(now);
  }
}

void Breaker::open(TimePoint now) {
  rests_ = state_ == State::kHalfOpen ? std::min(2 * rests_, kMostRests) : 1;
  state_ = State::kOpen;
  until_ = now + rests_ * options_.rest;
  failures_ = 0;
  dropped_ = 0;
  ++openings_;
}

}  // namespace rudder::steer

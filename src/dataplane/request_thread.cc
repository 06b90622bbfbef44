// SPDX-License-Identifier: Apache-2.0
#include "dataplane/request_thread.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "rudder/core/machine.h"

namespace rudder::dataplane {

RequestThread::RequestThread(std::string name, FrameType refusal, transport::Transport& transport,
                             Pools& pools)
    : pools_(pools), name_(std::move(name)), refusal_(refusal), transport_(transport) {}

void RequestThread::start() {
  thread_ = std::thread([this] { run(); });
}

void RequestThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void RequestThread::queue(PeerRequest request) {
  queue_.push_back(std::move(request));
  work_.notify_one();
}

void RequestThread::send(Rank to, const FrameHeader& header, AlignedBytes body, std::size_t bytes,
                         BytePool& pool) {
  std::array<std::byte, kFrameHeaderBytes> encoded{};
  encode_header(header, encoded);
  transport_.send(to, encoded, std::move(body), bytes,
                  [&pool](AlignedBytes block) { pool.give(std::move(block)); });
}

void RequestThread::refuse(Rank to, const FrameHeader& request, std::string_view reason) {
  const std::size_t bytes = std::min(reason.size(), kMaxReasonBytes);
  AlignedBytes body = pools_.small.take(bytes);
  std::memcpy(body.data(), reason.data(), bytes);
  send(to, {refusal_, request.table, request.rows, request.request}, std::move(body), bytes, pools_.small);
}

void RequestThread::run() {
  name_this_thread(name_);
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::optional<TimePoint> until = look_around(lock);
    if (stopping_) {
      return;
    }
    if (queue_.empty()) {
      if (until) {
        work_.wait_until(lock, *until);
      } else {
        work_.wait(lock);
      }
      continue;
    }
    PeerRequest request = std::move(queue_.front());
    queue_.pop_front();
    if (accept(request)) {
      lock.unlock();
      answer(request);
      lock.lock();
      answered();
    }
  }
}

}  // namespace rudder::dataplane

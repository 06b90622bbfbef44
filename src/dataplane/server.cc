// SPDX-License-Identifier: Apache-2.0
#include "dataplane/server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/gather.h"

namespace rudder::dataplane {
namespace {

/// Bytes of rows in one answer at most (one row always passes).
constexpr std::size_t kMaxReplyBytes = std::size_t{256} << 20;

}  // namespace

Server::Server(NodeId begin, NodeId end, Duration patience, transport::Transport& transport, Pools& pools)
    : RequestThread("rudder-serve", FrameType::kRefused, transport, pools),
      begin_(begin),
      end_(end),
      patience_(patience) {
  start();
}

Server::~Server() {
  stop();
}

void Server::replace(std::uint8_t table, Table with) {
  {
    std::unique_lock lock(mutex_);
    settled_.wait(lock, [&] { return serving_ != table; });
    tables_[table] = std::move(with);
    if (tables_[table].row_bytes != 0) {
      std::erase_if(parked_, [&](Parked& parked) {
        if (parked.request.header.table != table) {
          return false;
        }
        queue_.push_back(std::move(parked.request));
        return true;
      });
    }
  }
  work_.notify_all();
}

void Server::publish(std::uint8_t table, std::vector<std::span<const std::byte>> runs, std::size_t row_bytes,
                     std::optional<DType> narrow) {
  std::size_t bytes = 0;
  for (const auto run : runs) {
    RUDDER_CHECK(row_bytes > 0 && run.size() % row_bytes == 0, "a run holds whole rows");
    bytes += run.size();
  }
  RUDDER_CHECK(row_bytes > 0 && bytes == static_cast<std::size_t>(end_ - begin_) * row_bytes,
               "a table holds one row for each owned node");
  replace(table, Table{std::move(runs), row_bytes, narrow});
}

NarrowingError Server::narrowing_error() const {
  const std::lock_guard lock(error_mutex_);
  return error_;
}

void Server::withdraw(std::uint8_t table) {
  replace(table, Table{});
}

std::size_t Server::max_id_bytes(std::uint32_t rows) const noexcept {
  return rows > static_cast<std::uint64_t>(end_ - begin_) ? 0 : std::size_t{rows} * kMaxIdBytes;
}

void Server::enqueue(PeerRequest request) {
  {
    const std::lock_guard lock(mutex_);
    const Table& table = tables_[request.header.table];
    if (queue_.empty() && !stopping_ && table.row_bytes != 0 &&
        request.header.rows * table.sent_bytes() <= kInlineBytes) {
      serve(request, table, inline_positions_);  // under the lock: the table can't be withdrawn meanwhile
      return;
    }
    if (queue_.size() + parked_.size() < kMaxWaiting) {
      queue(std::move(request));
      return;
    }
  }
  refuse(request.from, request.header, fmt::format("{} requests wait already", kMaxWaiting));
}

std::optional<TimePoint> Server::look_around(std::unique_lock<std::mutex>& lock) {
  while (!stopping_ && !parked_.empty() && parked_.front().until <= steady_clock().now()) {
    const PeerRequest request = std::move(parked_.front().request);
    parked_.pop_front();
    lock.unlock();
    refuse(request.from, request.header,
           fmt::format("table {} has not been published for {:.1f} s", request.header.table,
                       to_seconds(patience_)));
    lock.lock();
  }
  return parked_.empty() ? std::nullopt : std::optional(parked_.front().until);
}

bool Server::accept(PeerRequest& request) {
  const std::uint8_t table = request.header.table;
  if (tables_[table].row_bytes == 0) {
    parked_.push_back({std::move(request), steady_clock().now() + patience_});
    return false;
  }
  serving_ = table;  // replace() leaves it alone meanwhile
  return true;
}

void Server::answer(PeerRequest& request) {
  serve(request, tables_[request.header.table], positions_);
}

void Server::answered() {
  serving_.reset();
  settled_.notify_all();
}

void Server::serve(PeerRequest& request, const Table& table, std::vector<NodeId>& positions) {
  const FrameHeader& asked = request.header;
  const Status decoded =
      decode_ids(0, end_ - begin_, asked.rows, request.body.bytes().first(request.body_bytes), positions);
  pools_.small.give(std::move(request.body));
  if (!decoded.ok()) {
    refuse(request.from, asked, decoded.error().message);
    return;
  }
  const std::size_t bytes = positions.size() * table.sent_bytes();
  if (positions.size() > 1 && bytes > kMaxReplyBytes) {
    refuse(request.from, asked,
           fmt::format("{} rows of {} bytes exceed the limit of an answer, {} bytes", positions.size(),
                       table.sent_bytes(), kMaxReplyBytes));
    return;
  }
  AlignedBytes body = pools_.rows.take(bytes);
  if (const Status filled = fill(table, positions, body.data()); !filled.ok()) {
    pools_.rows.give(std::move(body));
    refuse(request.from, asked, filled.error().message);
    return;
  }
  send(request.from, {FrameType::kRows, asked.table, asked.rows, asked.request}, std::move(body), bytes,
       pools_.rows);
}

Status Server::fill(const Table& table, std::span<NodeId> positions, std::byte* out) {
  NarrowingError error;
  NodeId before = 0;
  for (const auto run : table.runs) {
    const auto rows = static_cast<NodeId>(run.size() / table.row_bytes);
    const auto end = std::ranges::lower_bound(positions, before + rows);
    const auto here = positions.first(static_cast<std::size_t>(end - positions.begin()));
    for (NodeId& position : here) {
      position -= before;
    }
    if (table.narrow) {
      const std::span values(reinterpret_cast<const float*>(run.data()), run.size() / sizeof(float));
      const auto unfit =
          gather_narrowed(values, table.row_bytes / sizeof(float), here, *table.narrow, out, error);
      if (unfit) {
        return Error{Errc::kInvalidData,
                     fmt::format("a feature of node {} does not fit {}; use a wider --wire",
                                 begin_ + before + here[*unfit], name_of(*table.narrow))};
      }
    } else {
      gather_rows(run, table.row_bytes, here, out);
    }
    out += here.size() * table.sent_bytes();
    positions = positions.subspan(here.size());
    before += rows;
  }
  const std::lock_guard lock(error_mutex_);
  error_ += error;
  return {};
}

}  // namespace rudder::dataplane

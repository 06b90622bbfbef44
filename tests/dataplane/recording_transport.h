// SPDX-License-Identifier: Apache-2.0
// Watches which rows are in flight to one rank.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rudder/dataplane/wire.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/transport.h"

namespace rudder::dataplane::testing_support {

/// Requests of one rank that are not answered, decoded. Thread-safe.
class InFlightRows {
 public:
  explicit InFlightRows(const graph::PartitionBook& book) : book_(book) {}

  void asked(Rank owner, const FrameHeader& header, std::span<const std::byte> ids) {
    std::vector<NodeId> rows;
    const Status decoded = decode_ids(book_.begin(owner), book_.end(owner), header.rows, ids, rows);
    const std::lock_guard lock(mutex_);
    malformed_ += decoded.ok() ? 0U : 1U;
    for (const NodeId row : rows) {
      twice_ += rows_.insert(row).second ? 0U : 1U;
    }
    total_ += rows.size();
    requests_[{owner, header.request}] = std::move(rows);
  }
  void answered(Rank owner, const FrameHeader& header) {
    const std::lock_guard lock(mutex_);
    for (const NodeId row : requests_[{owner, header.request}]) {
      rows_.erase(row);
    }
    requests_.erase({owner, header.request});
  }
  [[nodiscard]] std::size_t twice() const {
    const std::lock_guard lock(mutex_);
    return twice_;
  }
  [[nodiscard]] std::size_t malformed() const {
    const std::lock_guard lock(mutex_);
    return malformed_;
  }
  [[nodiscard]] std::size_t total() const {
    const std::lock_guard lock(mutex_);
    return total_;
  }

 private:
  const graph::PartitionBook& book_;
  mutable std::mutex mutex_;
  std::map<std::pair<Rank, std::uint64_t>, std::vector<NodeId>> requests_;
  std::set<NodeId> rows_;
  std::size_t twice_ = 0;
  std::size_t malformed_ = 0;
  std::size_t total_ = 0;
};

/// Passes everything on, and tells `rows`.
class RecordingTransport final : public transport::Transport, private transport::Receiver {
 public:
  RecordingTransport(std::unique_ptr<transport::Transport> inner, InFlightRows& rows)
      : rows_(rows), inner_(std::move(inner)) {}

  std::string name() const override { return inner_->name(); }
  std::string address() const override { return inner_->address(); }
  Status start(transport::Receiver& receiver) override {
    receiver_ = &receiver;
    return inner_->start(*this);
  }
  Status connect(std::span<const std::string> addresses, Deadline deadline) override {
    return inner_->connect(addresses, deadline);
  }
  void send(Rank to, std::span<const std::byte> header, AlignedBytes body, std::size_t body_bytes,
            std::function<void(AlignedBytes)> recycle) override {
    const auto frame = decode_header(header.first(std::min(header.size(), kFrameHeaderBytes)));
    if (frame.ok() && frame.value().type == FrameType::kPull) {
      rows_.asked(to, frame.value(), body.bytes().first(body_bytes));
    }
    inner_->send(to, header, std::move(body), body_bytes, std::move(recycle));
  }
  Status flush(Deadline deadline) override { return inner_->flush(deadline); }
  transport::TransportCounters counters() const override { return inner_->counters(); }

 private:
  std::byte* landing(Rank from, std::span<const std::byte> header, std::size_t body_bytes) override {
    return receiver_->landing(from, header, body_bytes);
  }
  void received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) override {
    const auto frame = decode_header(header.first(std::min(header.size(), kFrameHeaderBytes)));
    if (frame.ok() && frame.value().type == FrameType::kRows) {
      rows_.answered(from, frame.value());
    }
    receiver_->received(from, header, body);
  }
  void peer_failed(Rank peer, const Error& error) override { receiver_->peer_failed(peer, error); }

  InFlightRows& rows_;
  transport::Receiver* receiver_ = nullptr;
  std::unique_ptr<transport::Transport> inner_;
};

}  // namespace rudder::dataplane::testing_support

// SPDX-License-Identifier: Apache-2.0
#include "train/access_record.h"

#include <array>
#include <cstdint>
#include <cstring>

#include <fmt/core.h>

#include "rudder/dataplane/wire.h"

namespace rudder::train {
namespace {

/// Before each batch's ids: how many, and how many bytes they take.
using BatchHead = std::array<std::uint32_t, 2>;

std::string key_of(Rank rank) {
  return fmt::format("accesses/{}", rank);
}

Result<std::vector<std::vector<NodeId>>> decode(const std::string& encoded, NodeId nodes) {
  std::vector<std::vector<NodeId>> batches;
  std::span<const std::byte> left = std::as_bytes(std::span(encoded));
  while (!left.empty()) {
    BatchHead head{};
    if (left.size() < sizeof head) {
      return Error{Errc::kInvalidData, "a record of accesses is cut off"};
    }
    std::memcpy(head.data(), left.data(), sizeof head);
    left = left.subspan(sizeof head);
    if (left.size() < head[1]) {
      return Error{Errc::kInvalidData, "a record of accesses is cut off"};
    }
    RUDDER_TRY(dataplane::decode_ids(0, nodes, head[0], left.first(head[1]), batches.emplace_back()));
    left = left.subspan(head[1]);
  }
  return batches;
}

}  // namespace

void AccessRecord::add(std::span<const NodeId> rows) {
  scratch_.clear();
  dataplane::encode_ids(0, rows, scratch_);
  const BatchHead head = {narrow<std::uint32_t>(rows.size()), narrow<std::uint32_t>(scratch_.size())};
  const auto append = [&](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      encoded_.push_back(static_cast<char>(byte));
    }
  };
  append(std::as_bytes(std::span(head)));
  append(scratch_);
}

Status AccessRecord::publish(transport::Rendezvous& rendezvous, Rank rank) const {
  return rendezvous.put(key_of(rank), encoded_);
}

Result<std::vector<std::vector<std::vector<NodeId>>>> collect_accesses(transport::Rendezvous& rendezvous,
                                                                       Rank world, NodeId nodes,
                                                                       Deadline deadline) {
  std::vector<std::vector<std::vector<NodeId>>> accesses;
  for (Rank rank = 0; rank < world; ++rank) {
    RUDDER_ASSIGN(const std::string encoded, rendezvous.get(key_of(rank), deadline));
    auto batches = decode(encoded, nodes);
    if (!batches) {
      return batches.error().in(fmt::format("rank {}", rank));
    }
    accesses.push_back(std::move(*batches));
  }
  return accesses;
}

}  // namespace rudder::train

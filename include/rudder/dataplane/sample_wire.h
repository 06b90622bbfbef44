// SPDX-License-Identifier: Apache-2.0
// Bodies of the frames with which ranks ask each other for drawn neighbours. Little-endian. Decoders take
// hostile bytes.
//
// kAsk: header.rows nodes of the receiver; body: the hop's stream (8 bytes), fan-out (4), ids as in a pull.
// kDrawn: header.rows of them, the first ones, at least one; body: their counts, then all their neighbours.
// The asker asks again for the rest. kAskRefused: body: the reason. All have table 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/wire.h"
#include "rudder/sample/neighbors.h"

namespace rudder::dataplane {

/// Bytes of an ask before its ids.
inline constexpr std::size_t kAskHeadBytes = 12;
/// Neighbours in one answer at most; the first node's always pass.
inline constexpr std::size_t kMostDrawn = std::size_t{1} << 19;
/// Bytes of one count at most.
inline constexpr std::size_t kMaxCountBytes = 5;

/// Appends to `out`. `ids` as for encode_ids().
void encode_ask(const sample::HopRule& rule, NodeId base, std::span<const NodeId> ids,
                std::vector<std::byte>& out);
/// Replaces `ids`; as decode_ids() with base 0. A fan-out below -1 is an error.
[[nodiscard]] Status decode_ask(NodeId limit, std::size_t count, std::span<const std::byte> body,
                                sample::HopRule& rule, std::vector<NodeId>& ids);

/// What an asker may be answered.
struct DrawnLimits {
  NodeId nodes = 0;        ///< of the graph
  std::uint64_t most = 0;  ///< neighbours of one node at most

  /// Bytes of an answer for `rows` nodes at most.
  [[nodiscard]] std::size_t body_bytes(std::size_t rows) const noexcept;
};

/// Appends to `out`. Neighbours are differences to the one before, with the sign in the lowest bit.
void encode_drawn(const sample::DrawnNeighbors& drawn, std::vector<std::byte>& out);
/// Appends exactly `rows` counts, none above limits.most, and their sum of ids in [0, limits.nodes), distinct
/// for each node, which use all bytes, each number in its shortest form; anything else is an error, after
/// which `out` holds anything. Allocates at most two ids a byte.
[[nodiscard]] Status decode_drawn(const DrawnLimits& limits, std::size_t rows,
                                  std::span<const std::byte> body, sample::DrawnNeighbors& out);

}  // namespace rudder::dataplane

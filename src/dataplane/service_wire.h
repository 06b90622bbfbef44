// SPDX-License-Identifier: Apache-2.0
// Frames between a host's service and its trainers, version 2: two sockets a trainer. On the first the
// trainer attaches, asks, releases and pings, and the service answers; on the second, whose end comes with
// the attach frame, the trainer offers its batches' rows, so that these wait without holding up the rest. And
// between a service and who watches it, on one socket: each watch frame is answered by figures or a failure.
// Decoders take hostile bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/dataplane/row_supply.h"

namespace rudder::dataplane {

inline constexpr std::uint32_t kServiceVersion = 2;

enum class ServiceFrame : std::uint32_t {
  kAttach = 1,    ///< trainer: AttachRequest, with the service's end of the second socket
  kWelcome = 2,   ///< service: SupplyTerms
  kFailed = 3,    ///< service: an error; nothing follows
  kBlock = 4,     ///< service: id and size of memory whose descriptor comes along
  kDrop = 5,      ///< service: id of memory that will not be used again
  kRows = 6,      ///< service: RowsHeader and places
  kAsk = 7,       ///< trainer, without a body
  kRelease = 8,   ///< trainer, without a body
  kOffer = 9,     ///< trainer, on the second socket: count and encoded ids
  kWatch = 10,    ///< watcher, without a body
  kFigures = 11,  ///< service: FiguresNotice
  kPing = 12,     ///< trainer, without a body: is anybody there?
  kPong = 13      ///< service, without a body: yes
};

/// Longest frame without rows.
inline constexpr std::size_t kMaxControlBytes = std::size_t{64} << 10;

/// Longest frame of figures.
inline constexpr std::size_t kMaxFiguresBytes = std::size_t{64} << 20;

/// What a trainer is and what it will run.
struct AttachRequest {
  std::uint32_t version = kServiceVersion;
  Rank rank = 0;
  std::string graph_digest, partition_digest;
  RunShape run;
};

/// As text, so that other versions can be told apart.
[[nodiscard]] std::vector<std::byte> encode_attach(const AttachRequest& request);
/// Another version is an error that holds both numbers.
[[nodiscard]] Result<AttachRequest> decode_attach(std::span<const std::byte> body);
[[nodiscard]] std::vector<std::byte> encode_terms(const SupplyTerms& terms);
[[nodiscard]] Result<SupplyTerms> decode_terms(std::span<const std::byte> body);
[[nodiscard]] std::vector<std::byte> encode_failure(const Error& error);
[[nodiscard]] Error decode_failure(std::span<const std::byte> body);

struct BlockNotice {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::vector<std::byte> encode_block(const BlockNotice& notice);
[[nodiscard]] Result<BlockNotice> decode_block(std::span<const std::byte> body);

/// A batch's rows, in place.
struct RowsNotice {
  StepId step = 0;
  std::uint64_t slot_block = 0;
  std::uint64_t staging_block = 0;  ///< meaningless when no row is staged
  cache::Counts counts;
  Transfer transfer;
  std::vector<cache::RowSource> places;  ///< 31 bits and one for `staged` on the wire
};
void encode_rows(const RowsNotice& notice, std::vector<std::byte>& out);
/// Exactly `rows` places.
[[nodiscard]] Result<RowsNotice> decode_rows(std::span<const std::byte> body, std::size_t rows);
/// Bytes of a kRows frame with that many rows.
[[nodiscard]] std::size_t rows_bytes(std::size_t rows) noexcept;

/// What a service shows of itself.
struct FiguresNotice {
  Duration at{};     ///< on a clock of the service that only grows
  std::string page;  ///< Registry::text()
};
[[nodiscard]] std::vector<std::byte> encode_figures(const FiguresNotice& notice);
/// The page may hold anything.
[[nodiscard]] Result<FiguresNotice> decode_figures(std::span<const std::byte> body);

/// Replaces `out`.
void encode_offer(std::span<const NodeId> rows, std::vector<std::byte>& out);
/// Distinct ascending ids below `nodes`, none in [owned_begin, owned_end).
[[nodiscard]] Result<std::vector<NodeId>> decode_offer(std::span<const std::byte> body, NodeId nodes,
                                                       NodeId owned_begin, NodeId owned_end);
/// Most bytes of an offer for a graph of that many nodes.
[[nodiscard]] std::size_t max_offer_bytes(NodeId nodes) noexcept;

}  // namespace rudder::dataplane

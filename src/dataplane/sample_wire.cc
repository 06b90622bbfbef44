// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/sample_wire.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "dataplane/fixed_ints.h"
#include "dataplane/leb128.h"

namespace rudder::dataplane {
namespace {

/// Small numbers for small differences of either sign. |difference| < 2^62.
std::uint64_t fold_sign(std::int64_t difference) noexcept {
  return (static_cast<std::uint64_t>(difference) << 1) ^ static_cast<std::uint64_t>(difference >> 63);
}
std::int64_t unfold_sign(std::uint64_t folded) noexcept {
  return static_cast<std::int64_t>(folded >> 1) ^ -static_cast<std::int64_t>(folded & 1);
}

Error malformed(std::string_view what, std::size_t i, std::size_t count, std::size_t at) {
  return {Errc::kInvalidData,
          fmt::format("{} {} of {} at byte {} is cut short, too long or not in shortest form", what, i, count,
                      at)};
}

/// The first id that stands in `ids` a second time, if one does. O(ids) when they ascend or are few and
/// likely distinct, as what samplers draw; else O(ids log ids), with `scratch`.
std::optional<NodeId> find_repeated(std::span<const NodeId> ids, std::vector<NodeId>& scratch) {
  if (std::ranges::adjacent_find(ids, std::greater_equal<>()) == ids.end()) {
    return std::nullopt;
  }
  constexpr std::size_t kFew = 64;
  constexpr std::size_t kFilterBits = 512;
  if (ids.size() > kFew) {
    scratch.assign(ids.begin(), ids.end());
    std::ranges::sort(scratch);
    const auto twice = std::ranges::adjacent_find(scratch);
    return twice == scratch.end() ? std::nullopt : std::optional(*twice);
  }
  std::bitset<kFilterBits> met;  // by low bits: most ids are the first with theirs
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto bit = static_cast<std::size_t>(ids[i]) % kFilterBits;
    const auto before = ids.first(i);
    if (met[bit] && std::ranges::find(before, ids[i]) != before.end()) {
      return ids[i];
    }
    met.set(bit);
  }
  return std::nullopt;
}

/// Of lists of neighbours that stand one after another.
Status check_distinct(std::span<const std::uint32_t> counts, std::span<const NodeId> ids) {
  std::vector<NodeId> scratch;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (const auto twice = find_repeated(ids.first(counts[i]), scratch)) {
      return Error{Errc::kInvalidData,
                   fmt::format("neighbour {} of node {} of {} comes twice", *twice, i, counts.size())};
    }
    ids = ids.subspan(counts[i]);
  }
  return {};
}

}  // namespace

void encode_ask(const sample::HopRule& rule, NodeId base, std::span<const NodeId> ids,
                std::vector<std::byte>& out) {
  put_int(out, rule.stream, 8);
  put_int(out, static_cast<std::uint32_t>(rule.fanout), 4);
  encode_ids(base, ids, out);
}

Status decode_ask(NodeId limit, std::size_t count, std::span<const std::byte> body, sample::HopRule& rule,
                  std::vector<NodeId>& ids) {
  if (body.size() < kAskHeadBytes) {
    return Error{Errc::kInvalidData, fmt::format("an ask of {} bytes", body.size())};
  }
  rule.stream = get_int(body.first(8));
  rule.fanout = static_cast<std::int32_t>(get_int(body.subspan(8, 4)));
  if (rule.fanout < -1) {
    return Error{Errc::kInvalidData, fmt::format("a fan-out of {}", rule.fanout)};
  }
  return decode_ids(0, limit, count, body.subspan(kAskHeadBytes), ids);
}

std::size_t DrawnLimits::body_bytes(std::size_t rows) const noexcept {
  // No product below overflows: a graph has fewer than 2^56 edges, and rows fit 32 bits.
  const std::uint64_t most_ids = std::max<std::uint64_t>(most, kMostDrawn);
  const std::uint64_t ids = rows > most_ids / std::max<std::uint64_t>(most, 1) ? most_ids : rows * most;
  return rows * kMaxCountBytes + ids * kMaxIdBytes;
}

void encode_drawn(const sample::DrawnNeighbors& drawn, std::vector<std::byte>& out) {
  for (const std::uint32_t count : drawn.counts) {
    put_leb128(count, out);
  }
  NodeId before = 0;
  for (const NodeId id : drawn.ids) {
    put_leb128(fold_sign(id - before), out);
    before = id;
  }
}

Status decode_drawn(const DrawnLimits& limits, std::size_t rows, std::span<const std::byte> body,
                    sample::DrawnNeighbors& out) {
  if (rows > body.size()) {
    return Error{Errc::kInvalidData, fmt::format("{} counts in {} bytes", rows, body.size())};
  }
  std::size_t at = 0;
  std::size_t total = 0;
  out.counts.reserve(out.counts.size() + rows);
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint64_t count = 0;
    const std::size_t start = at;
    if (!get_leb128(body, at, count)) {
      return malformed("count", i, rows, start);
    }
    if (count > limits.most) {
      return Error{Errc::kInvalidData,
                   fmt::format("{} neighbours of node {} of {}, at most {}", count, i, rows, limits.most)};
    }
    total += static_cast<std::size_t>(count);
    if (total > body.size()) {
      return Error{Errc::kInvalidData, fmt::format("{} neighbours in {} bytes", total, body.size())};
    }
    out.counts.push_back(static_cast<std::uint32_t>(count));
  }
  out.ids.reserve(out.ids.size() + total);
  NodeId before = 0;
  for (std::size_t i = 0; i < total; ++i) {
    std::uint64_t folded = 0;
    const std::size_t start = at;
    if (!get_leb128(body, at, folded)) {
      return malformed("neighbour", i, total, start);
    }
    // Both are below 2^62 in size.
    const NodeId id = before + unfold_sign(folded);
    if (id < 0 || id >= limits.nodes) {
      return Error{Errc::kInvalidData,
                   fmt::format("neighbour {} of {} is {}, outside of [0, {})", i, total, id, limits.nodes)};
    }
    out.ids.push_back(before = id);
  }
  if (at != body.size()) {
    return Error{Errc::kInvalidData,
                 fmt::format("{} bytes after the last of {} neighbours", body.size() - at, total)};
  }
  return check_distinct(std::span(out.counts).last(rows), std::span(out.ids).last(total));
}

}  // namespace rudder::dataplane

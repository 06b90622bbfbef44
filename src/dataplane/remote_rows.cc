// SPDX-License-Identifier: Apache-2.0
#include "dataplane/remote_rows.h"

#include <algorithm>
#include <bit>

#include "rudder/core/check.h"

namespace rudder::dataplane {
namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
/// Below this, counting 2048 digits costs more than comparing.
constexpr std::size_t kFewEntries = 512;

}  // namespace

RemoteSplitter::RemoteSplitter(NodeId begin, NodeId end, NodeId nodes)
    : begin_(begin),
      end_(end),
      bits_(static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(nodes)))),
      offsets_(kDigits) {}

void RemoteSplitter::sort() {
  if (entries_.size() < kFewEntries) {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.node < b.node; });
    return;
  }
  other_.resize(entries_.size());
  for (unsigned shift = 0; shift < bits_; shift += kDigitBits) {
    const auto digit = [&](const Entry& entry) {
      return static_cast<std::size_t>(entry.node >> shift) & (kDigits - 1);
    };
    std::fill(offsets_.begin(), offsets_.end(), 0);
    for (const Entry& entry : entries_) {
      ++offsets_[digit(entry)];
    }
    std::size_t sum = 0;
    for (std::size_t& offset : offsets_) {
      const std::size_t count = offset;
      offset = sum;
      sum += count;
    }
    for (const Entry& entry : entries_) {
      other_[offsets_[digit(entry)]++] = entry;
    }
    entries_.swap(other_);
  }
}

void RemoteSplitter::split(std::span<const NodeId> batch, std::vector<NodeId>& rows,
                           std::vector<LocalId>& positions) {
  entries_.clear();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i] < begin_ || batch[i] >= end_) {
      entries_.push_back({batch[i], static_cast<LocalId>(i)});
    }
  }
  sort();
  rows.resize(entries_.size());
  positions.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    rows[i] = entries_[i].node;
    positions[i] = entries_[i].position;
  }
  RUDDER_PARANOID(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end(),
                  "the nodes of a batch are distinct");
}

}  // namespace rudder::dataplane

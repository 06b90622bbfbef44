// SPDX-License-Identifier: Apache-2.0
// Maps from a batch's global node ids to local ids, given in order of first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rudder/core/ids.h"

namespace rudder::sample {

/// Zeroed memory of whole huge pages where the system has them: the maps are read at random, and with small
/// pages each read would also miss the TLB.
class ZeroedWords {
 public:
  ZeroedWords() = default;
  explicit ZeroedWords(std::size_t words);

  [[nodiscard]] std::uint64_t* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::uint64_t* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Unmap {
    Unmap() noexcept : bytes(0) {}
    explicit Unmap(std::size_t mapped) noexcept : bytes(mapped) {}
    std::size_t bytes;
    void operator()(std::uint64_t* pointer) const noexcept;
  };
  std::unique_ptr<std::uint64_t[], Unmap> data_;
  std::size_t size_ = 0;
};

/// One word a node of the graph: (batch stamp, local id). Nothing is cleared between batches.
class DenseIdMap {
 public:
  /// `batches` before the first one: lets tests reach the stamp's wrap.
  explicit DenseIdMap(NodeId nodes, std::uint32_t batches = 0)
      : words_(static_cast<std::size_t>(nodes)), stamp_(batches) {}

  /// Forgets everything. O(1); O(nodes) once in 2^32 calls.
  void begin_batch() {
    if (++stamp_ == 0) [[unlikely]] {
      restart();
    }
  }
  /// Makes room for `more` nodes beyond `known`; nodes[0 .. known) are those inserted so far.
  void reserve(const NodeId* /*nodes*/, std::size_t /*known*/, std::size_t /*more*/) {}
  void prefetch(NodeId node) const noexcept { __builtin_prefetch(words_.data() + node, 1); }

  /// The local id of `node`. A node seen for the first time gets `known`, is written to nodes[known], and
  /// `known` grows. nodes[known] must be writable in either case: without a branch, it is always written.
  LocalId find_or_insert(NodeId node, NodeId* nodes, std::size_t& known) noexcept {
    std::uint64_t& word = words_.data()[node];
    const bool fresh = (word >> 32) != stamp_;
    const std::uint64_t local = fresh ? known : word & 0xffffffffU;
    word = (std::uint64_t{stamp_} << 32) | local;
    nodes[known] = node;
    known += fresh ? 1 : 0;
    return static_cast<LocalId>(local);
  }

 private:
  void restart();

  ZeroedWords words_;
  std::uint32_t stamp_;  ///< of the current batch; 0 marks words never written
};

/// An open-addressing table as large as the batch needs: for graphs whose dense map would take too much
/// memory. Two words a place: node, then (batch stamp, local id).
class HashIdMap {
 public:
  explicit HashIdMap(NodeId /*nodes*/, std::uint32_t batches = 0)
      : places_(2 * kFirstCapacity), mask_(kFirstCapacity - 1), stamp_(batches) {}

  void begin_batch() {
    if (++stamp_ == 0) [[unlikely]] {
      restart();
    }
  }
  void reserve(const NodeId* nodes, std::size_t known, std::size_t more) {
    if (2 * (known + more) > mask_ + 1) [[unlikely]] {
      grow(nodes, known, more);
    }
  }
  void prefetch(NodeId node) const noexcept { __builtin_prefetch(places_.data() + 2 * home(node), 1); }

  LocalId find_or_insert(NodeId node, NodeId* nodes, std::size_t& known) noexcept {
    const auto key = static_cast<std::uint64_t>(node);
    for (std::size_t place = home(node);; place = (place + 1) & mask_) {
      std::uint64_t* words = places_.data() + 2 * place;
      if ((words[1] >> 32) != stamp_) {
        words[0] = key;
        words[1] = (std::uint64_t{stamp_} << 32) | known;
        nodes[known] = node;
        return static_cast<LocalId>(known++);
      }
      if (words[0] == key) {
        return static_cast<LocalId>(words[1]);
      }
    }
  }

 private:
  static constexpr std::size_t kFirstCapacity = std::size_t{1} << 12;

  /// Fibonacci hashing: the product's upper bits depend on all bits of the node.
  [[nodiscard]] std::size_t home(NodeId node) const noexcept {
    return (static_cast<std::uint64_t>(node) * 0x9e3779b97f4a7c15ULL >> 32) & mask_;
  }
  void grow(const NodeId* nodes, std::size_t known, std::size_t more);
  void restart();

  ZeroedWords places_;
  std::size_t mask_;
  std::uint32_t stamp_;
};

}  // namespace rudder::sample

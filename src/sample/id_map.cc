// SPDX-License-Identifier: Apache-2.0
#include "sample/id_map.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include <sys/mman.h>

#include "rudder/core/check.h"

namespace rudder::sample {
namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}

ZeroedWords::ZeroedWords(std::size_t words) : size_(words) {
  if (words == 0) {
    return;
  }
  // Small maps keep to small pages; large ones end on a huge page so that the last one is usable too.
  std::size_t bytes = words * sizeof(std::uint64_t);
  if (bytes >= kHugePage) {
    bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RUDDER_CHECK(memory != MAP_FAILED, "out of memory for the sampler's node map");
  // Advice only: without huge pages the map works all the same.
  static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
  data_ = std::unique_ptr<std::uint64_t[], Unmap>(static_cast<std::uint64_t*>(memory), Unmap{bytes});
}

void ZeroedWords::Unmap::operator()(std::uint64_t* pointer) const noexcept {
  munmap(pointer, bytes);
}

void DenseIdMap::restart() {
  std::fill_n(words_.data(), words_.size(), 0);
  stamp_ = 1;
}

void HashIdMap::restart() {
  std::fill_n(places_.data(), places_.size(), 0);
  stamp_ = 1;
}

void HashIdMap::grow(const NodeId* nodes, std::size_t known, std::size_t more) {
  // Four places a node: the next growth is at least a doubling away.
  const std::size_t capacity = std::bit_ceil(4 * (known + more));
  places_ = ZeroedWords(2 * capacity);
  mask_ = capacity - 1;
  stamp_ = 1;
  for (std::size_t local = 0; local < known; ++local) {
    std::size_t place = home(nodes[local]);
    while (places_.data()[2 * place + 1] != 0) {
      place = (place + 1) & mask_;
    }
    places_.data()[2 * place] = static_cast<std::uint64_t>(nodes[local]);
    places_.data()[2 * place + 1] = (std::uint64_t{stamp_} << 32) | local;
  }
}

}  // namespace rudder::sample

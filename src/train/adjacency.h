// SPDX-License-Identifier: Apache-2.0
// The structure of one message-flow graph as the kernels read it, and what is derived from it once a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/ids.h"
#include "rudder/sample/sampler.h"

namespace rudder::train {

/// Compressed rows: row r lists indices[indptr[r] .. indptr[r+1]).
struct Adjacency {
  std::span<const std::uint32_t> indptr;
  std::span<const LocalId> indices;

  [[nodiscard]] std::size_t rows() const noexcept { return indptr.size() - 1; }
  [[nodiscard]] std::size_t entries() const noexcept { return indices.size(); }
  [[nodiscard]] std::span<const LocalId> row(std::size_t r) const noexcept {
    return indices.subspan(indptr[r], indptr[r + 1] - indptr[r]);
  }
};

/// Destinations in the order of `mfg`, each with its sources.
[[nodiscard]] inline Adjacency by_destination(const sample::Mfg& mfg) noexcept {
  return {mfg.indptr, mfg.indices};
}

/// The same entries sorted by source: row s lists the destinations that s sends to, ascending, so that
/// gradients are gathered without races and in a fixed order.
struct Transposed {
  std::vector<std::uint32_t> indptr;
  std::vector<LocalId> indices;        ///< destinations
  std::vector<std::uint32_t> entries;  ///< positions in the original's indices

  [[nodiscard]] Adjacency view() const noexcept { return {indptr, indices}; }
};

/// O(sources + entries).
[[nodiscard]] Transposed transpose(const Adjacency& by_destination, std::size_t sources);

/// `mfg` with an entry d → d last in each destination's list that has none.
[[nodiscard]] sample::Mfg with_self_entries(const sample::Mfg& mfg);

/// 1 / entries of the row that each transposed entry came from: the mean's weights in the backward pass.
[[nodiscard]] std::vector<float> mean_weights(const Adjacency& by_destination, const Transposed& transposed);

/// Weights of the symmetrically normalised sum of GCN over entries that include the self entries:
/// c(s, d) = 1 / sqrt((deg(s) + 1)(deg(d) + 1)), where deg is the in-degree in the whole graph without
/// self-loops. Sampled neighbours stand for all of theirs: their weights grow by deg(d) / sampled(d), so the
/// sum's expectation over samples is the whole graph's sum, and with all neighbours it is that sum.
[[nodiscard]] std::vector<float> gcn_weights(const Adjacency& by_destination, std::span<const float> degrees);

}  // namespace rudder::train

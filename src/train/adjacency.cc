// SPDX-License-Identifier: Apache-2.0
#include "train/adjacency.h"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.h"

namespace rudder::train {

Transposed transpose(const Adjacency& by_destination, std::size_t sources) {
  Transposed result;
  result.indptr.assign(sources + 1, 0);
  for (const LocalId source : by_destination.indices) {
    ++result.indptr[source + 1];
  }
  for (std::size_t s = 0; s < sources; ++s) {
    result.indptr[s + 1] += result.indptr[s];
  }
  result.indices.resize(by_destination.entries());
  result.entries.resize(by_destination.entries());
  std::vector<std::uint32_t> next(result.indptr.begin(), result.indptr.end() - 1);
  for (std::size_t d = 0; d < by_destination.rows(); ++d) {
    for (std::uint32_t e = by_destination.indptr[d]; e < by_destination.indptr[d + 1]; ++e) {
      const std::uint32_t place = next[by_destination.indices[e]]++;
      result.indices[place] = narrow<LocalId>(d);
      result.entries[place] = e;
    }
  }
  return result;
}

sample::Mfg with_self_entries(const sample::Mfg& mfg) {
  const Adjacency given = by_destination(mfg);
  sample::Mfg result;
  result.destinations = mfg.destinations;
  result.sources = mfg.sources;
  result.indptr.reserve(mfg.indptr.size());
  result.indices.reserve(mfg.indices.size() + mfg.destinations);
  result.indptr.push_back(0);
  for (LocalId d = 0; d < mfg.destinations; ++d) {
    const auto row = given.row(d);
    result.indices.insert(result.indices.end(), row.begin(), row.end());
    if (std::ranges::find(row, d) == row.end()) {
      result.indices.push_back(d);
    }
    result.indptr.push_back(narrow<std::uint32_t>(result.indices.size()));
  }
  return result;
}

std::vector<float> mean_weights(const Adjacency& by_destination, const Transposed& transposed) {
  std::vector<float> weights(transposed.indices.size());
  for (std::size_t p = 0; p < weights.size(); ++p) {
    weights[p] = 1.0F / static_cast<float>(by_destination.row(transposed.indices[p]).size());
  }
  return weights;
}

std::vector<float> gcn_weights(const Adjacency& by_destination, std::span<const float> degrees) {
  std::vector<float> weights(by_destination.entries());
  for (std::size_t d = 0; d < by_destination.rows(); ++d) {
    const auto row = by_destination.row(d);
    const auto neighbors = static_cast<float>(row.size() - 1);
    const float grown = neighbors > 0 ? degrees[d] / neighbors : 0.0F;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const LocalId s = row[i];
      const float norm = 1.0F / std::sqrt((degrees[s] + 1) * (degrees[d] + 1));
      weights[by_destination.indptr[d] + i] = s == d ? norm : norm * grown;
    }
  }
  return weights;
}

}  // namespace rudder::train

// SPDX-License-Identifier: Apache-2.0
// Small random structures, and slow double-precision arithmetic to compare with.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/core/rng.h"
#include "rudder/sample/sampler.h"

namespace rudder::train::testing_support {

/// A random message-flow graph; about one destination in eight has no sources.
inline sample::Mfg random_mfg(std::uint64_t seed, LocalId destinations, LocalId sources, std::uint32_t most) {
  CounterRng rng({seed, 1});
  sample::Mfg mfg;
  mfg.destinations = destinations;
  mfg.sources = sources;
  mfg.indptr.push_back(0);
  for (LocalId d = 0; d < destinations; ++d) {
    const std::uint64_t count = rng.below(8) == 0 ? 0 : rng.below(most + 1);
    std::vector<std::uint8_t> taken(sources, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto s = static_cast<LocalId>(rng.below(sources));
      if (taken[s] == 0) {
        taken[s] = 1;
        mfg.indices.push_back(s);
      }
    }
    mfg.indptr.push_back(static_cast<std::uint32_t>(mfg.indices.size()));
  }
  return mfg;
}

/// Values in [-1, 1).
inline std::vector<float> random_floats(std::uint64_t seed, std::size_t count) {
  CounterRng rng({seed, 2});
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(2 * rng.unit() - 1);
  }
  return values;
}

/// A dense row-major matrix of doubles.
struct Dense {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;

  Dense(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c, 0.0) {}
  Dense(std::size_t r, std::size_t c, const std::vector<float>& from)
      : rows(r), columns(c), values(from.begin(), from.end()) {}
  double& at(std::size_t r, std::size_t c) { return values[r * columns + c]; }
  [[nodiscard]] double at(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};

inline Dense product(const Dense& a, const Dense& b) {
  Dense result(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      if (a.at(i, k) == 0) {
        continue;
      }
      for (std::size_t j = 0; j < b.columns; ++j) {
        result.at(i, j) += a.at(i, k) * b.at(k, j);
      }
    }
  }
  return result;
}

inline Dense transposed(const Dense& a) {
  Dense result(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) {
      result.at(j, i) = a.at(i, j);
    }
  }
  return result;
}

/// The matrix of an MFG: at (d, s) the weight of entry s → d, 0 elsewhere.
template <class Weight>
Dense matrix_of(const sample::Mfg& mfg, Weight&& weight) {
  Dense result(mfg.destinations, mfg.sources);
  for (LocalId d = 0; d < mfg.destinations; ++d) {
    for (std::uint32_t e = mfg.indptr[d]; e < mfg.indptr[d + 1]; ++e) {
      result.at(d, mfg.indices[e]) = weight(d, e);
    }
  }
  return result;
}

inline Dense mean_matrix(const sample::Mfg& mfg) {
  return matrix_of(mfg, [&](LocalId d, std::uint32_t) {
    return 1.0 / static_cast<double>(mfg.indptr[d + 1] - mfg.indptr[d]);
  });
}

}  // namespace rudder::train::testing_support

// SPDX-License-Identifier: Apache-2.0
// Equality of sampled batches, with the first difference named.
#pragma once

#include <cstddef>

#include <gtest/gtest.h>

#include "rudder/sample/sampler.h"

namespace rudder::test {

inline ::testing::AssertionResult same_batch(const sample::SampledBatch& a, const sample::SampledBatch& b) {
  const auto fail = [](const char* what) {
    return ::testing::AssertionFailure() << "the batches differ in their " << what;
  };
  if (a.key.epoch != b.key.epoch || a.key.batch != b.key.batch || a.key.rank != b.key.rank) {
    return fail("keys");
  }
  if (a.seeds != b.seeds || a.nodes != b.nodes) {
    return fail("nodes");
  }
  if (a.layers.size() != b.layers.size()) {
    return fail("numbers of layers");
  }
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    if (a.layers[k].destinations != b.layers[k].destinations || a.layers[k].sources != b.layers[k].sources ||
        a.layers[k].indptr != b.layers[k].indptr || a.layers[k].indices != b.layers[k].indices) {
      return fail("layer ") << k;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace rudder::test

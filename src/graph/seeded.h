// SPDX-License-Identifier: Apache-2.0
// Features, labels and splits that are pure functions of (seed, node), for graphs that come without them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/graph.h"

namespace rudder::graph {

/// Largest number of feature columns a generator or importer accepts.
inline constexpr std::size_t kMaxFeatures = 65536;
/// Largest number of classes a generator or importer accepts.
inline constexpr std::int64_t kMaxClasses = std::int64_t{1} << 31;

/// FNV-1a, finalised: the same value on every machine.
[[nodiscard]] std::uint64_t hash_text(std::string_view text) noexcept;

/// Values of mean 0 and variance 1 and nearly normal (each the sum of four uniforms, so within ±3.47): equal
/// on every machine, for it uses no libm.
void noise_row(std::uint64_t seed, NodeId node, std::span<float> row) noexcept;

/// Gives `data` f32 rows of noise for all of its nodes. O(nodes x columns).
void add_noise_features(GraphData& data, std::size_t columns, std::uint64_t seed);

/// Gives every node a uniform random label in [0, classes).
void add_random_labels(GraphData& data, std::int64_t classes, std::uint64_t seed);

/// Shares of a split; what train and val leave is test.
struct SplitShares {
  double train = 0.6;
  double val = 0.2;
};

/// Appends node `v` to train, val or test by the hash `key` of what identifies it. Call in increasing order
/// of v; leave out nodes without a label.
void add_to_split(GraphData& data, NodeId v, std::uint64_t seed, std::uint64_t key, SplitShares shares);

/// Splits all nodes with a label, in a multi-label graph all nodes, by their ids.
void add_random_split(GraphData& data, SplitShares shares, std::uint64_t seed);

/// Copies a row of data.features floats into the rows of a f32 graph.
void store_row(GraphData& data, NodeId v, std::span<const float> row);

/// An error when `columns` is 0 or above kMaxFeatures.
[[nodiscard]] Status check_columns(std::size_t columns);

}  // namespace rudder::graph

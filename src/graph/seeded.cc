// SPDX-License-Identifier: Apache-2.0
#include "graph/seeded.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/rng.h"

namespace rudder::graph {
namespace {

// Streams of one seed that must not resemble each other.
constexpr std::uint64_t kFeatureStream = 0x66656174;
constexpr std::uint64_t kLabelStream = 0x6c61626c;
constexpr std::uint64_t kSplitStream = 0x73706c74;

}  // namespace

std::uint64_t hash_text(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return mix64(hash);
}

void noise_row(std::uint64_t seed, NodeId node, std::span<float> row) noexcept {
  CounterRng random({seed, kFeatureStream, static_cast<std::uint64_t>(node)});
  // Four 16-bit uniforms: mean 2 x 65535, variance 4 (65536^2 - 1) / 12.
  constexpr float kScale = 1.7320508F / 65536.0F;
  for (float& value : row) {
    const std::uint64_t bits = random();
    const std::uint64_t sum =
        (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
    value = (static_cast<float>(sum) - 131070.0F) * kScale;
  }
}

void add_noise_features(GraphData& data, std::size_t columns, std::uint64_t seed) {
  const std::size_t nodes = data.indptr.size() - 1;
  data.dtype = DType::kF32;
  data.features = columns;
  data.rows.resize(nodes * columns * sizeof(float));
  std::vector<float> row(columns);
  for (std::size_t v = 0; v < nodes; ++v) {
    noise_row(seed, static_cast<NodeId>(v), row);
    store_row(data, static_cast<NodeId>(v), row);
  }
}

void add_random_labels(GraphData& data, std::int64_t classes, std::uint64_t seed) {
  data.classes = classes;
  data.labels.resize(data.indptr.size() - 1);
  for (std::size_t v = 0; v < data.labels.size(); ++v) {
    CounterRng random({seed, kLabelStream, v});
    data.labels[v] = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(classes)));
  }
}

void add_to_split(GraphData& data, NodeId v, std::uint64_t seed, std::uint64_t key, SplitShares shares) {
  const double place = CounterRng({seed, kSplitStream, key}).unit();
  if (place < shares.train) {
    data.train.push_back(v);
  } else if (place < shares.train + shares.val) {
    data.val.push_back(v);
  } else {
    data.test.push_back(v);
  }
}

void add_random_split(GraphData& data, SplitShares shares, std::uint64_t seed) {
  for (std::size_t v = 0; v + 1 < data.indptr.size(); ++v) {
    if (data.labels.empty() || data.labels[v] >= 0) {
      add_to_split(data, static_cast<NodeId>(v), seed, v, shares);
    }
  }
}

void store_row(GraphData& data, NodeId v, std::span<const float> row) {
  const std::size_t bytes = data.features * sizeof(float);
  RUDDER_DCHECK(row.size_bytes() == bytes, "row has the graph's number of features");
  std::memcpy(data.rows.data() + static_cast<std::size_t>(v) * bytes, row.data(), bytes);
}

Status check_columns(std::size_t columns) {
  if (columns == 0 || columns > kMaxFeatures) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("features: {} columns, expected 1 to {}", columns, kMaxFeatures)};
  }
  return {};
}

}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
// Message aggregation over one message-flow graph. Rows are f32. Destinations are spread over the pool's
// threads; each is added up by one thread in the order of its list, so results do not depend on the number of
// threads. All are O(entries x width).
#pragma once

#include <span>
#include <vector>

#include "train/adjacency.h"
#include "train/parallel.h"
#include "train/row_kernels.h"

namespace rudder::train {

/// out[r] (width floats, rows one after another) = mean of x's rows in r's list; zeros for an empty list.
void aggregate_mean(WorkerPool& pool, const Adjacency& adjacency, const RowsView& x, float* out);

/// out[r] = sum over the list of weights[entry] x row. `out_stride` floats from one row of out to the next.
void aggregate_weighted(WorkerPool& pool, const Adjacency& adjacency, std::span<const float> weights,
                        const RowsView& x, float* out, std::size_t out_stride);

/// ReLU and inverted dropout in place; element e of the stream `key` decides over x[e] (see RowKernels).
struct Dropout {
  std::uint64_t key = 0;
  std::uint32_t dropped = 0;  ///< share in 65536ths; 0: none

  [[nodiscard]] static Dropout none() noexcept { return {}; }
  [[nodiscard]] static Dropout of(double share, std::uint64_t key) noexcept;
  [[nodiscard]] float scale() const noexcept { return 65536.0F / static_cast<float>(65536 - dropped); }
};
void relu_dropout(WorkerPool& pool, const Dropout& dropout, std::span<float> x);
/// out = gradient x derivative; the derivative is told from the result `y`.
void relu_dropout_backward(WorkerPool& pool, const Dropout& dropout, const float* y, const float* gradient,
                           std::span<float> out);

/// Attention of one head (GAT): for entry e = (s → d), pre = source_score[s] + destination_score[d], and
/// attention[e] = softmax over d's entries of LeakyReLU_slope(pre). Scores of node i are at [i x
/// score_stride].
struct HeadScores {
  const float* source = nullptr;
  const float* destination = nullptr;
  std::size_t stride = 1;
  float slope = 0.2F;
};
void edge_softmax(WorkerPool& pool, const Adjacency& adjacency, const HeadScores& scores,
                  std::span<float> attention);

/// From the gradient of the outputs to that of the scores before LeakyReLU, one value an entry:
/// with a = attention and c[e] = gradient[d] · z[s], the result is
/// a[e] (c[e] - sum over d's entries of a c) x LeakyReLU'(pre[e]).
void edge_softmax_backward(WorkerPool& pool, const Adjacency& adjacency, const HeadScores& scores,
                           std::span<const float> attention, const RowsView& z, const RowsView& gradient,
                           std::span<float> score_gradient);

/// out[r x out_stride] = sum of values[entry] over r's entries, in order; `entries` empty: positions
/// themselves.
void sum_entries(WorkerPool& pool, const Adjacency& adjacency, std::span<const std::uint32_t> entries,
                 std::span<const float> values, float* out, std::size_t out_stride);

/// values[entries[p]] for every p.
[[nodiscard]] std::vector<float> permuted(std::span<const float> values,
                                          std::span<const std::uint32_t> entries);

/// Adam (Kingma and Ba 2015, with PyTorch's placing of epsilon) over flat arrays. `step` counts from 1.
struct Adam {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< each parameter loses learning_rate x this share of itself first (AdamW)
};
void adam_step(const Adam& adam, std::uint64_t step, std::span<const float> gradient, std::span<float> mean,
               std::span<float> square, std::span<float> parameters);

}  // namespace rudder::train

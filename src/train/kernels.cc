// SPDX-License-Identifier: Apache-2.0
#include "train/kernels.h"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.h"

namespace rudder::train {
namespace {

constexpr std::size_t kGrainRows = 64;
constexpr std::size_t kGrainFloats = std::size_t{1} << 15;  // multiple of 4: see RowKernels::relu_dropout

float leaky_relu(float x, float slope) noexcept {
  return x > 0 ? x : slope * x;
}

}  // namespace

void aggregate_mean(WorkerPool& pool, const Adjacency& adjacency, const RowsView& x, float* out) {
  const RowKernels& kernels = row_kernels();
  pool.run(adjacency.rows(), kGrainRows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const auto row = adjacency.row(r);
      const float scale = row.empty() ? 0.0F : 1.0F / static_cast<float>(row.size());
      kernels.sum_rows(x, row, scale, out + r * x.width);
    }
  });
}

void aggregate_weighted(WorkerPool& pool, const Adjacency& adjacency, std::span<const float> weights,
                        const RowsView& x, float* out, std::size_t out_stride) {
  RUDDER_CHECK(weights.size() == adjacency.entries(), "one weight an entry");
  const RowKernels& kernels = row_kernels();
  pool.run(adjacency.rows(), kGrainRows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      kernels.weighted_sum_rows(x, adjacency.row(r), weights.data() + adjacency.indptr[r],
                                out + r * out_stride);
    }
  });
}

Dropout Dropout::of(double share, std::uint64_t key) noexcept {
  return {key, static_cast<std::uint32_t>(std::lround(share * 65536))};
}

void relu_dropout(WorkerPool& pool, const Dropout& dropout, std::span<float> x) {
  const RowKernels& kernels = row_kernels();
  pool.run(x.size(), kGrainFloats, [&](std::size_t begin, std::size_t end) {
    const auto part = x.subspan(begin, end - begin);
    if (dropout.dropped == 0) {
      std::ranges::transform(part, part.begin(),
                             [](float value) { return value <= 0 ? 0.0F : value; });  // keeps NaN
    } else {
      kernels.relu_dropout(dropout.key, begin, dropout.dropped, dropout.scale(), part);
    }
  });
}

void relu_dropout_backward(WorkerPool& pool, const Dropout& dropout, const float* y, const float* gradient,
                           std::span<float> out) {
  const RowKernels& kernels = row_kernels();
  pool.run(out.size(), kGrainFloats, [&](std::size_t begin, std::size_t end) {
    kernels.relu_dropout_backward(y + begin, gradient + begin, dropout.scale(),
                                  out.subspan(begin, end - begin));
  });
}

void edge_softmax(WorkerPool& pool, const Adjacency& adjacency, const HeadScores& scores,
                  std::span<float> attention) {
  pool.run(adjacency.rows(), kGrainRows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t d = begin; d < end; ++d) {
      const auto row = adjacency.row(d);
      const auto out = attention.subspan(adjacency.indptr[d], row.size());
      if (row.empty()) {
        continue;
      }
      for (std::size_t i = 0; i < row.size(); ++i) {
        out[i] = leaky_relu(scores.source[row[i] * scores.stride] + scores.destination[d * scores.stride],
                            scores.slope);
      }
      const float largest = *std::ranges::max_element(out);
      float total = 0;
      for (float& value : out) {
        value = std::exp(value - largest);
        total += value;
      }
      for (float& value : out) {
        value /= total;
      }
    }
  });
}

void edge_softmax_backward(WorkerPool& pool, const Adjacency& adjacency, const HeadScores& scores,
                           std::span<const float> attention, const RowsView& z, const RowsView& gradient,
                           std::span<float> score_gradient) {
  const RowKernels& kernels = row_kernels();
  pool.run(adjacency.rows(), kGrainRows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t d = begin; d < end; ++d) {
      const auto row = adjacency.row(d);
      const std::size_t first = adjacency.indptr[d];
      const float* out_gradient = gradient.data + d * gradient.stride;
      float mean = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const float along = kernels.dot(out_gradient, z.data + row[i] * z.stride, z.width);
        score_gradient[first + i] = along;
        mean += attention[first + i] * along;
      }
      for (std::size_t i = 0; i < row.size(); ++i) {
        const float pre = scores.source[row[i] * scores.stride] + scores.destination[d * scores.stride];
        const float slope = pre > 0 ? 1.0F : scores.slope;
        float& value = score_gradient[first + i];
        value = attention[first + i] * (value - mean) * slope;
      }
    }
  });
}

void sum_entries(WorkerPool& pool, const Adjacency& adjacency, std::span<const std::uint32_t> entries,
                 std::span<const float> values, float* out, std::size_t out_stride) {
  pool.run(adjacency.rows(), kGrainRows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      float sum = 0;
      for (std::size_t p = adjacency.indptr[r]; p < adjacency.indptr[r + 1]; ++p) {
        sum += values[entries.empty() ? p : entries[p]];
      }
      out[r * out_stride] = sum;
    }
  });
}

std::vector<float> permuted(std::span<const float> values, std::span<const std::uint32_t> entries) {
  std::vector<float> result(entries.size());
  std::ranges::transform(entries, result.begin(), [&](std::uint32_t entry) { return values[entry]; });
  return result;
}

void adam_step(const Adam& adam, std::uint64_t step, std::span<const float> gradient, std::span<float> mean,
               std::span<float> square, std::span<float> parameters) {
  const auto t = static_cast<double>(step);
  const auto rate = static_cast<float>(adam.learning_rate / (1 - std::pow(adam.beta1, t)));
  const auto correction = static_cast<float>(1 / std::sqrt(1 - std::pow(adam.beta2, t)));
  const auto beta1 = static_cast<float>(adam.beta1);
  const auto beta2 = static_cast<float>(adam.beta2);
  const auto rest1 = static_cast<float>(1 - adam.beta1);
  const auto rest2 = static_cast<float>(1 - adam.beta2);
  const auto epsilon = static_cast<float>(adam.epsilon);
  if (adam.weight_decay > 0) {
    const auto kept = static_cast<float>(1 - adam.learning_rate * adam.weight_decay);
    for (float& parameter : parameters) {
      parameter *= kept;
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float g = gradient[i];
    mean[i] = beta1 * mean[i] + rest1 * g;
    square[i] = beta2 * square[i] + rest2 * g * g;
    parameters[i] -= rate * mean[i] / (std::sqrt(square[i]) * correction + epsilon);
  }
}

}  // namespace rudder::train

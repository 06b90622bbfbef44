// SPDX-License-Identifier: Apache-2.0
#include "train/ops.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace rudder::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// Carries a value that is no tensor from the forward to the backward pass.
template <class T>
struct Held final : torch::CustomClassHolder {
  explicit Held(T held) : value(std::move(held)) {}
  T value;
};
template <class T>
void hold(AutogradContext* context, const char* name, T value) {
  context->saved_data[name] = c10::IValue::make_capsule(c10::make_intrusive<Held<T>>(std::move(value)));
}
template <class T>
T& held(AutogradContext* context, const char* name) {
  return static_cast<Held<T>*>(context->saved_data.at(name).toCapsule().get())->value;
}

RowsView rows_of(const at::Tensor& x) {
  const auto width = static_cast<std::size_t>(x.size(1));
  return {x.data_ptr<float>(), width, width};
}
at::Tensor new_rows(std::size_t rows, std::size_t width) {
  return at::empty({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)}, at::kFloat);
}

// Blocks are the same for any number of threads, and so are the sums inside each.
constexpr std::size_t kBlockRows = 2048;

template <class Body>
void for_blocks(WorkerPool& pool, std::int64_t rows, Body&& body) {
  pool.run(static_cast<std::size_t>(rows), kBlockRows, [&](std::size_t begin, std::size_t end) {
    body(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
  });
}

/// x as a factor of a product.
at::Tensor factor(const at::Tensor& x, Precision precision) {
  return precision == Precision::kF32 ? x : x.to(at::kBFloat16);
}

/// x · weight for the first `out` rows of x; `beta` 0 overwrites out, 1 adds to it.
void multiply_into(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight, int beta,
                   WorkerPool& pool, Precision precision) {
  const at::Tensor second = factor(weight, precision);
  for_blocks(pool, out.size(0), [&](std::int64_t begin, std::int64_t count) {
    at::Tensor part = out.narrow(0, begin, count);
    const at::Tensor first = factor(x.narrow(0, begin, count), precision);
    if (precision == Precision::kF32) {
      at::addmm_out(part, part, first, second, beta);
    } else if (beta == 0) {
      part.copy_(at::mm(first, second));
    } else {
      part.add_(at::mm(first, second));
    }
  });
}
at::Tensor multiply(const at::Tensor& x, const at::Tensor& weight, WorkerPool& pool, Precision precision) {
  at::Tensor out = at::empty({x.size(0), weight.size(1)}, x.options());
  multiply_into(out, x, weight, 0, pool, precision);
  return out;
}

/// x[rows of y]^T · y: the products of blocks, added in order.
at::Tensor transposed_product(const at::Tensor& x, const at::Tensor& y, WorkerPool& pool,
                              Precision precision) {
  if (y.size(0) == 0) {
    return at::zeros({x.size(1), y.size(1)}, x.options());
  }
  std::vector<at::Tensor> parts((static_cast<std::size_t>(y.size(0)) + kBlockRows - 1) / kBlockRows);
  for_blocks(pool, y.size(0), [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor product = at::mm(factor(x.narrow(0, begin, count), precision).t(),
                                      factor(y.narrow(0, begin, count), precision));
    parts[static_cast<std::size_t>(begin) / kBlockRows] = product.to(at::kFloat);
  });
  for (std::size_t b = 1; b < parts.size(); ++b) {
    parts[0].add_(parts[b]);
  }
  return parts[0];
}

at::Tensor aggregate(const at::Tensor& x, const LayerStructure& structure) {
  const RowsView rows = rows_of(x);
  at::Tensor out = new_rows(structure.destinations(), rows.width);
  structure.aggregate(rows, out.data_ptr<float>());
  return out;
}
at::Tensor aggregate_backward(const at::Tensor& gradient, LayerStructure& structure) {
  const RowsView rows = rows_of(gradient);
  at::Tensor out = new_rows(structure.sources(), rows.width);
  structure.aggregate_backward(rows, out.data_ptr<float>());
  return out;
}

struct Convolve : Function<Convolve> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const c10::optional<at::Tensor>& self_weight, const at::Tensor& neighbor_weight,
                            const at::Tensor& bias, const Structure& structure, Order order,
                            Precision precision) {
    WorkerPool& pool = structure->pool();
    const auto destinations = static_cast<std::int64_t>(structure->destinations());
    at::Tensor sums;  // over neighbours, before multiplication
    at::Tensor out;
    if (order == Order::kAggregateFirst) {
      sums = aggregate(x, *structure);
      // A copy even for one row, where expand() alone would give the bias itself.
      out = at::empty({destinations, bias.size(0)}, bias.options())
                .copy_(bias.expand({destinations, bias.size(0)}));
      multiply_into(out, sums, neighbor_weight, 1, pool, precision);
    } else {
      out = aggregate(multiply(x, neighbor_weight, pool, precision), *structure);
      out.add_(bias);
    }
    if (self_weight) {
      multiply_into(out, x, *self_weight, 1, pool, precision);
    }
    context->save_for_backward({x, self_weight.value_or(at::Tensor()), neighbor_weight, sums});
    hold(context, "structure", structure);
    hold(context, "precision", precision);
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& self_weight = saved[1];
    const at::Tensor& neighbor_weight = saved[2];
    const at::Tensor& sums = saved[3];
    LayerStructure& structure = *held<Structure>(context, "structure");
    WorkerPool& pool = structure.pool();
    const Precision precision = held<Precision>(context, "precision");
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor by_x, by_self, by_neighbor;
    if (sums.defined()) {
      by_neighbor = transposed_product(sums, gradient, pool, precision);
      if (x.requires_grad()) {
        by_x = aggregate_backward(multiply(gradient, neighbor_weight.t(), pool, precision), structure);
      }
    } else {
      const at::Tensor by_products = aggregate_backward(gradient, structure);
      by_neighbor = transposed_product(x, by_products, pool, precision);
      if (x.requires_grad()) {
        by_x = multiply(by_products, neighbor_weight.t(), pool, precision);
      }
    }
    if (self_weight.defined()) {
      by_self = transposed_product(x, gradient, pool, precision);
      if (x.requires_grad()) {
        multiply_into(by_x.narrow(0, 0, gradient.size(0)), gradient, self_weight.t(), 1, pool, precision);
      }
    }
    return {by_x, by_self, by_neighbor, gradient.sum(0), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

struct Linear : Function<Linear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            WorkerPool* pool, Precision precision) {
    context->save_for_backward({x, weight});
    hold(context, "pool", pool);
    hold(context, "precision", precision);
    return multiply(x, weight, *pool, precision);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    WorkerPool& pool = *held<WorkerPool*>(context, "pool");
    const Precision precision = held<Precision>(context, "precision");
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor by_x;
    if (saved[0].requires_grad()) {
      by_x = multiply(gradient, saved[1].t(), pool, precision);
    }
    return {by_x, transposed_product(saved[0], gradient, pool, precision), at::Tensor(), at::Tensor()};
  }
};

struct ReluDropout : Function<ReluDropout> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Dropout& dropout,
                            WorkerPool* pool) {
    relu_dropout(*pool, dropout, values_of(x));
    context->mark_dirty({x});
    context->save_for_backward({x});
    hold(context, "dropout", dropout);
    hold(context, "pool", pool);
    return x;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor y = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor out = at::empty_like(gradient);
    relu_dropout_backward(*held<WorkerPool*>(context, "pool"), held<Dropout>(context, "dropout"),
                          y.data_ptr<float>(), gradient.data_ptr<float>(), values_of(out));
    return {out, at::Tensor(), at::Tensor()};
  }
};

/// Scores of all rows: out[i x heads + h] = z[i, h] · vector[h].
std::vector<float> scores(const at::Tensor& z, const at::Tensor& vector, std::size_t rows, WorkerPool& pool) {
  const auto heads = static_cast<std::size_t>(vector.size(0));
  const auto width = static_cast<std::size_t>(vector.size(1));
  const float* from = z.data_ptr<float>();
  const float* with = vector.data_ptr<float>();
  std::vector<float> out(rows * heads);
  const auto dot = row_kernels().dot;
  pool.run(rows, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin * heads; i < end * heads; ++i) {
      out[i] = dot(from + i * width, with + i % heads * width, width);
    }
  });
  return out;
}

/// What one attention layer keeps for its backward pass; entries of one head lie together.
struct AttentionState {
  Structure structure;
  std::vector<float> source_scores, destination_scores, attention;
};

/// Adds score gradients (rows x heads) into the gradients by z and by the score vector.
void add_score_gradient(const at::Tensor& z, const at::Tensor& vector,
                        const std::vector<float>& score_gradient, const at::Tensor& by_z,
                        const at::Tensor& by_vector, WorkerPool& pool) {
  const auto heads = static_cast<std::size_t>(vector.size(0));
  const auto width = static_cast<std::size_t>(vector.size(1));
  const std::size_t rows = score_gradient.size() / heads;
  const auto add_scaled = row_kernels().add_scaled;
  pool.run(rows, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin * heads; i < end * heads; ++i) {
      add_scaled(score_gradient[i], vector.data_ptr<float>() + i % heads * width,
                 by_z.data_ptr<float>() + i * width, width);
    }
  });
  pool.run(heads, 1, [&](std::size_t h, std::size_t) {
    for (std::size_t r = 0; r < rows; ++r) {
      add_scaled(score_gradient[r * heads + h], z.data_ptr<float>() + (r * heads + h) * width,
                 by_vector.data_ptr<float>() + h * width, width);
    }
  });
}

struct Attend : Function<Attend> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& z, const at::Tensor& source_vector,
                            const at::Tensor& destination_vector, const Structure& structure) {
    WorkerPool& pool = structure->pool();
    const Adjacency& adjacency = structure->adjacency();
    const auto heads = static_cast<std::size_t>(source_vector.size(0));
    const auto width = static_cast<std::size_t>(source_vector.size(1));
    AttentionState state{structure, scores(z, source_vector, structure->sources(), pool),
                         scores(z, destination_vector, structure->destinations(), pool),
                         std::vector<float>(adjacency.entries() * heads)};
    at::Tensor out = new_rows(structure->destinations(), heads * width);
    for (std::size_t h = 0; h < heads; ++h) {
      const auto attention = std::span(state.attention).subspan(h * adjacency.entries(), adjacency.entries());
      edge_softmax(pool, adjacency, head_scores(state, h, heads), attention);
      aggregate_weighted(pool, adjacency, attention, head_rows(z, h, heads),
                         out.data_ptr<float>() + h * width, heads * width);
    }
    context->save_for_backward({z, source_vector, destination_vector});
    hold(context, "state", std::move(state));
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& z = saved[0];
    const at::Tensor gradient = gradients[0].contiguous();
    AttentionState& state = held<AttentionState>(context, "state");
    LayerStructure& structure = *state.structure;
    const auto heads = static_cast<std::size_t>(saved[1].size(0));
    at::Tensor by_z = at::empty_like(z);
    std::vector<float> by_source(structure.sources() * heads);
    std::vector<float> by_destination(structure.destinations() * heads);
    for (std::size_t h = 0; h < heads; ++h) {
      head_backward(state, z, gradient, h, heads, by_z, by_source, by_destination);
    }
    at::Tensor by_source_vector = at::zeros_like(saved[1]);
    at::Tensor by_destination_vector = at::zeros_like(saved[2]);
    add_score_gradient(z, saved[1], by_source, by_z, by_source_vector, structure.pool());
    add_score_gradient(z, saved[2], by_destination, by_z, by_destination_vector, structure.pool());
    return {by_z, by_source_vector, by_destination_vector, at::Tensor()};
  }

 private:
  static HeadScores head_scores(const AttentionState& state, std::size_t head, std::size_t heads) {
    return {state.source_scores.data() + head, state.destination_scores.data() + head, heads};
  }
  static RowsView head_rows(const at::Tensor& x, std::size_t head, std::size_t heads) {
    const RowsView all = rows_of(x);
    const std::size_t width = all.width / heads;
    return {all.data + head * width, all.stride, width};
  }
  static void head_backward(AttentionState& state, const at::Tensor& z, const at::Tensor& gradient,
                            std::size_t head, std::size_t heads, const at::Tensor& by_z,
                            std::vector<float>& by_source, std::vector<float>& by_destination) {
    LayerStructure& structure = *state.structure;
    WorkerPool& pool = structure.pool();
    const Adjacency& adjacency = structure.adjacency();
    const Transposed& back = structure.transposed();
    const auto attention =
        std::span<const float>(state.attention).subspan(head * adjacency.entries(), adjacency.entries());
    const RowsView gradient_rows = head_rows(gradient, head, heads);
    std::vector<float> score_gradient(adjacency.entries());
    edge_softmax_backward(pool, adjacency, head_scores(state, head, heads), attention,
                          head_rows(z, head, heads), gradient_rows, score_gradient);
    aggregate_weighted(pool, back.view(), permuted(attention, back.entries), gradient_rows,
                       by_z.data_ptr<float>() + head * gradient_rows.width, gradient_rows.stride);
    sum_entries(pool, back.view(), back.entries, score_gradient, by_source.data() + head, heads);
    sum_entries(pool, adjacency, {}, score_gradient, by_destination.data() + head, heads);
  }
};

}  // namespace

at::Tensor convolve(const at::Tensor& x, const c10::optional<at::Tensor>& self_weight,
                    const at::Tensor& neighbor_weight, const at::Tensor& bias, const Structure& structure,
                    Order order, Precision precision) {
  return Convolve::apply(x, self_weight, neighbor_weight, bias, structure, order, precision);
}
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, WorkerPool& pool, Precision precision) {
  return Linear::apply(x, weight, &pool, precision);
}
at::Tensor relu_dropout_(const at::Tensor& x, const Dropout& dropout, WorkerPool& pool) {
  return ReluDropout::apply(x, dropout, &pool);
}
at::Tensor attend(const at::Tensor& z, const at::Tensor& source_vector, const at::Tensor& destination_vector,
                  const Structure& structure) {
  return Attend::apply(z, source_vector, destination_vector, structure);
}

}  // namespace rudder::train

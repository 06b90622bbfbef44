// SPDX-License-Identifier: Apache-2.0
#include "train/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/graph_cases.h"

namespace rudder::train {
namespace {

using testing_support::Dense;
using testing_support::matrix_of;
using testing_support::mean_matrix;
using testing_support::random_floats;
using testing_support::random_mfg;

void expect_near(const std::vector<float>& got, const Dense& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.values.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), expected.values[i], tolerance) << "at element " << i;
  }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Widths around the tiles of every vector unit: 32, 64 and 128 columns.
class AggregationOfWidth : public ::testing::TestWithParam<std::size_t> {};

TEST_P(AggregationOfWidth, MeanEqualsTheDenseProduct) {
  const std::size_t width = GetParam();
  const sample::Mfg mfg = random_mfg(3, 150, 400, 20);
  const std::vector<float> x = random_floats(4, mfg.sources * width);
  std::vector<float> out(mfg.destinations * width, -7.0F);
  WorkerPool pool(1);
  aggregate_mean(pool, by_destination(mfg), {x.data(), width, width}, out.data());
  expect_near(out, product(mean_matrix(mfg), Dense(mfg.sources, width, x)), 1e-6);
}

TEST_P(AggregationOfWidth, MeansBackwardIsTheTransposedProduct) {
  const std::size_t width = GetParam();
  const sample::Mfg mfg = random_mfg(5, 150, 400, 20);
  const std::vector<float> gradient = random_floats(6, mfg.destinations * width);
  std::vector<float> out(mfg.sources * width, -7.0F);
  WorkerPool pool(1);
  const Transposed back = transpose(by_destination(mfg), mfg.sources);
  aggregate_weighted(pool, back.view(), mean_weights(by_destination(mfg), back),
                     {gradient.data(), width, width}, out.data(), width);
  expect_near(out, product(transposed(mean_matrix(mfg)), Dense(mfg.destinations, width, gradient)), 1e-5);
}

TEST_P(AggregationOfWidth, WeightedSumEqualsTheDenseProductAndRespectsStrides) {
  const std::size_t width = GetParam();
  const std::size_t stride = width + 3;
  const sample::Mfg mfg = random_mfg(7, 60, 90, 9);
  const std::vector<float> weights = random_floats(8, mfg.indices.size());
  const std::vector<float> x = random_floats(9, mfg.sources * stride);
  std::vector<float> out(mfg.destinations * stride, -7.0F);
  WorkerPool pool(1);
  aggregate_weighted(pool, by_destination(mfg), weights, {x.data(), stride, width}, out.data(), stride);
  const Dense matrix =
      matrix_of(mfg, [&](LocalId, std::uint32_t e) { return static_cast<double>(weights[e]); });
  Dense expected = product(matrix, Dense(mfg.sources, stride, x));
  for (std::size_t r = 0; r < expected.rows; ++r) {
    for (std::size_t c = width; c < stride; ++c) {
      expected.at(r, c) = -7.0;
    }
  }
  expect_near(out, expected, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Widths, AggregationOfWidth, ::testing::Values(1, 7, 16, 45, 64, 100, 128, 256, 300));

TEST(Aggregation, DoesNotDependOnTheNumberOfThreads) {
  const std::size_t width = 96;
  const sample::Mfg mfg = random_mfg(10, 1000, 1500, 30);
  const std::vector<float> x = random_floats(11, mfg.sources * width);
  std::vector<float> one(mfg.destinations * width);
  std::vector<float> four(mfg.destinations * width);
  WorkerPool single(1);
  WorkerPool several(4);
  aggregate_mean(single, by_destination(mfg), {x.data(), width, width}, one.data());
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::ranges::fill(four, -7.0F);
    aggregate_mean(several, by_destination(mfg), {x.data(), width, width}, four.data());
    ASSERT_TRUE(same_bits(one, four)) << "repeat " << repeat;
  }
}

TEST(Transposed, ListsEveryEntryOnceWithDestinationsAscending) {
  const sample::Mfg mfg = random_mfg(12, 80, 120, 15);
  const Transposed back = transpose(by_destination(mfg), mfg.sources);
  std::vector<std::uint32_t> entries = back.entries;
  std::ranges::sort(entries);
  std::vector<std::uint32_t> all(mfg.indices.size());
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(entries, all);
  for (LocalId s = 0; s < mfg.sources; ++s) {
    const auto row = back.view().row(s);
    EXPECT_TRUE(std::ranges::is_sorted(row)) << "source " << s;
    for (std::uint32_t p = back.indptr[s]; p < back.indptr[s + 1]; ++p) {
      EXPECT_EQ(mfg.indices[back.entries[p]], s);
      EXPECT_GE(back.entries[p], mfg.indptr[back.indices[p]]);
      EXPECT_LT(back.entries[p], mfg.indptr[back.indices[p] + 1]);
    }
  }
}

TEST(SelfEntries, AreAddedOnceToEveryDestination) {
  sample::Mfg mfg;
  mfg.destinations = 3;
  mfg.sources = 5;
  mfg.indptr = {0, 2, 2, 4};
  mfg.indices = {3, 4, 2, 0};
  const sample::Mfg with = with_self_entries(mfg);
  EXPECT_THAT(with.indptr, ::testing::ElementsAre(0, 3, 4, 6));
  EXPECT_THAT(with.indices, ::testing::ElementsAre(3, 4, 0, 1, 2, 0));
}

TEST(GcnWeights, AreTheSymmetricNormalisationWhenAllNeighboursAreThere) {
  sample::Mfg mfg;  // a path 1 - 0 - 2, seen from 0 and 1
  mfg.destinations = 2;
  mfg.sources = 3;
  mfg.indptr = {0, 2, 3};
  mfg.indices = {1, 2, 0};
  const std::vector<float> degrees = {2, 1, 1};
  const sample::Mfg with = with_self_entries(mfg);
  const auto weights = gcn_weights(by_destination(with), degrees);
  const float across = 1 / std::sqrt(6.0F);
  EXPECT_THAT(weights, ::testing::Pointwise(::testing::FloatEq(),
                                            std::vector<float>{across, across, 1.0F / 3, across, 1.0F / 2}));
}

TEST(GcnWeights, GrowByTheShareOfNeighboursThatWereNotSampled) {
  sample::Mfg mfg;
  mfg.destinations = 1;
  mfg.sources = 2;
  mfg.indptr = {0, 1};
  mfg.indices = {1};
  const std::vector<float> degrees = {10, 4};
  const auto weights = gcn_weights(by_destination(with_self_entries(mfg)), degrees);
  EXPECT_THAT(weights, ::testing::ElementsAre(::testing::FloatEq(10 / std::sqrt(55.0F)),
                                              ::testing::FloatEq(1 / 11.0F)));
}

class RowKernelVariants : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RowKernelVariants, AllGiveTheBitsOfThePlainest) {
  const std::size_t width = GetParam();
  const std::vector<float> x = random_floats(20, 50 * width);
  const std::vector<float> weights = random_floats(21, 40);
  std::vector<LocalId> rows(40);
  CounterRng rng(22);
  std::ranges::generate(rows, [&] { return static_cast<LocalId>(rng.below(50)); });
  const RowsView view{x.data(), width, width};
  const auto outcomes = [&](const RowKernels& kernels) {
    std::vector<std::vector<float>> all(5, std::vector<float>(width));
    kernels.sum_rows(view, rows, 1.0F / 3, all[0].data());
    kernels.weighted_sum_rows(view, rows, weights.data(), all[1].data());
    all[2].assign(1, kernels.dot(x.data(), x.data() + width, width));
    all[3].assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(width));
    kernels.add_scaled(0.3F, x.data() + width, all[3].data(), width);
    all[4] = x;
    kernels.relu_dropout(99, 8, 20000, 1.25F, all[4]);
    all.push_back(x);
    kernels.relu_dropout_backward(all[4].data(), x.data(), 1.25F, all[5]);
    return all;
  };
  const auto variants = supported_row_kernels();
  const auto plainest = outcomes(variants.front());
  for (const RowKernels& variant : variants) {
    const auto got = outcomes(variant);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(same_bits(got[i], plainest[i]))
          << variant.name << ", function " << i << ", width " << width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, RowKernelVariants,
                         ::testing::Values(1, 3, 16, 31, 63, 64, 127, 128, 129, 256, 517));

TEST(ReluDropout, KeepsTheStreamsLanesAboveTheThresholdAndScalesThem) {
  const std::size_t count = 1000;
  const Dropout dropout = Dropout::of(0.3, 1234);
  const std::vector<float> before = random_floats(30, count);
  std::vector<float> after = before;
  WorkerPool pool(1);
  relu_dropout(pool, dropout, after);
  CounterRng stream(1234);
  std::uint64_t word = 0;
  for (std::size_t e = 0; e < count; ++e) {
    word = e % 4 == 0 ? stream() : word >> 16;
    const bool kept = (word & 0xffff) >= dropout.dropped;
    const float expected = kept && before[e] > 0 ? before[e] * dropout.scale() : 0.0F;
    ASSERT_EQ(after[e], expected) << "at element " << e;
  }
}

TEST(ReluDropout, DropsTheAskedShare) {
  std::vector<float> ones(1 << 20, 1.0F);
  WorkerPool pool(2);
  relu_dropout(pool, Dropout::of(0.5, 5), ones);
  const auto kept = static_cast<double>(std::ranges::count(ones, 2.0F));
  EXPECT_EQ(std::ranges::count(ones, 0.0F) + static_cast<std::ptrdiff_t>(kept), std::ssize(ones));
  EXPECT_NEAR(kept / static_cast<double>(ones.size()), 0.5, 0.0025);  // five standard deviations
}

TEST(ReluDropout, IsPlainReluWithoutDropout) {
  std::vector<float> x = {-1, 0, 2, -0.5F, 3};
  std::vector<float> gradient = {1, 2, 3, 4, 5};
  WorkerPool pool(1);
  relu_dropout(pool, Dropout::none(), x);
  EXPECT_THAT(x, ::testing::ElementsAre(0, 0, 2, 0, 3));
  relu_dropout_backward(pool, Dropout::none(), x.data(), gradient.data(), gradient);
  EXPECT_THAT(gradient, ::testing::ElementsAre(0, 0, 3, 0, 5));
}

TEST(ReluDropout, LosesNoNaN) {
  WorkerPool pool(1);
  for (const Dropout& dropout : {Dropout::none(), Dropout::of(0.5, 5)}) {
    std::vector<float> x(100, std::numeric_limits<float>::quiet_NaN());
    relu_dropout(pool, dropout, x);
    EXPECT_GT(std::ranges::count_if(x, [](float value) { return std::isnan(value); }), 20);
  }
}

/// One attention head in doubles: the loss sum over d of weight[d] · out[d] as a function of scores.
struct AttentionCase {
  sample::Mfg mfg = with_self_entries(random_mfg(40, 12, 20, 6));
  std::size_t width = 5;
  std::vector<float> source = random_floats(41, mfg.sources);
  std::vector<float> destination = random_floats(42, mfg.sources);
  std::vector<float> z = random_floats(43, mfg.sources* width);
  std::vector<float> loss_gradient = random_floats(44, mfg.destinations* width);

  /// Attention in doubles; `bump` is added to the score before LeakyReLU of entry `at`.
  [[nodiscard]] std::vector<double> attention(std::size_t at, double bump) const {
    std::vector<double> result(mfg.indices.size());
    for (LocalId d = 0; d < mfg.destinations; ++d) {
      double total = 0;
      for (std::size_t e = mfg.indptr[d]; e < mfg.indptr[d + 1]; ++e) {
        const double pre = static_cast<double>(source[mfg.indices[e]]) + static_cast<double>(destination[d]) +
                           (e == at ? bump : 0.0);
        result[e] = std::exp(pre > 0 ? pre : 0.2 * pre);
        total += result[e];
      }
      for (std::size_t e = mfg.indptr[d]; e < mfg.indptr[d + 1]; ++e) {
        result[e] /= total;
      }
    }
    return result;
  }
  [[nodiscard]] double loss(std::size_t at, double bump) const {
    const std::vector<double> shares = attention(at, bump);
    double sum = 0;
    for (LocalId d = 0; d < mfg.destinations; ++d) {
      for (std::size_t e = mfg.indptr[d]; e < mfg.indptr[d + 1]; ++e) {
        for (std::size_t j = 0; j < width; ++j) {
          sum += shares[e] * static_cast<double>(z[mfg.indices[e] * width + j]) *
                 static_cast<double>(loss_gradient[d * width + j]);
        }
      }
    }
    return sum;
  }
};

constexpr std::size_t kNowhere = ~std::size_t{0};

TEST(EdgeSoftmax, EqualsTheLiteralSoftmax) {
  const AttentionCase given;
  std::vector<float> attention(given.mfg.indices.size());
  WorkerPool pool(2);
  edge_softmax(pool, by_destination(given.mfg), {given.source.data(), given.destination.data()}, attention);
  const std::vector<double> expected = given.attention(kNowhere, 0);
  for (std::size_t e = 0; e < attention.size(); ++e) {
    ASSERT_NEAR(static_cast<double>(attention[e]), expected[e], 1e-6) << "entry " << e;
  }
}

TEST(EdgeSoftmax, BackwardEqualsFiniteDifferencesOfTheLiteralLoss) {
  const AttentionCase given;
  const Adjacency adjacency = by_destination(given.mfg);
  const HeadScores scores{given.source.data(), given.destination.data()};
  std::vector<float> attention(given.mfg.indices.size());
  std::vector<float> gradient(given.mfg.indices.size());
  WorkerPool pool(2);
  edge_softmax(pool, adjacency, scores, attention);
  edge_softmax_backward(pool, adjacency, scores, attention, {given.z.data(), given.width, given.width},
                        {given.loss_gradient.data(), given.width, given.width}, gradient);
  const double h = 1e-5;
  for (std::size_t e = 0; e < gradient.size(); ++e) {
    const double slope = (given.loss(e, h) - given.loss(e, -h)) / (2 * h);
    ASSERT_NEAR(static_cast<double>(gradient[e]), slope, 2e-6) << "entry " << e;
  }
}

TEST(SumEntries, AddsTheListedValuesOfEachRow) {
  const std::vector<std::uint32_t> indptr = {0, 2, 2, 3};
  const std::vector<LocalId> indices = {0, 1, 2};
  const std::vector<std::uint32_t> entries = {2, 0, 1};
  const std::vector<float> values = {1, 10, 100};
  std::vector<float> out(6, -1);
  WorkerPool pool(1);
  sum_entries(pool, {indptr, indices}, entries, values, out.data(), 2);
  EXPECT_THAT(out, ::testing::ElementsAre(101, -1, 0, -1, 10, -1));
  sum_entries(pool, {indptr, indices}, {}, values, out.data(), 1);
  EXPECT_THAT(std::span(out).first(3), ::testing::ElementsAre(11, 0, 100));
  EXPECT_THAT(permuted(values, entries), ::testing::ElementsAre(100, 1, 10));
}

TEST(Adam, FollowsTheTextbookInDoubles) {
  const Adam adam{.learning_rate = 0.01};
  std::vector<float> parameters = {0.5F, -1, 2};
  std::vector<float> mean(3);
  std::vector<float> square(3);
  std::vector<double> p(parameters.begin(), parameters.end());
  std::vector<double> m(3);
  std::vector<double> v(3);
  for (std::uint64_t step = 1; step <= 50; ++step) {
    const std::vector<float> gradient = random_floats(step, 3);
    adam_step(adam, step, gradient, mean, square, parameters);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto g = static_cast<double>(gradient[i]);
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      const auto t = static_cast<double>(step);
      p[i] -= 0.01 * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(static_cast<double>(parameters[i]), p[i], 1e-5);
  }
}

TEST(WorkerPool, DoesEveryPieceExactlyOnce) {
  for (const std::size_t threads : std::vector<std::size_t>{1, 2, 5}) {
    WorkerPool pool(threads);
    for (const std::size_t count : std::vector<std::size_t>{0, 1, 7, 64, 1000}) {
      std::vector<int> visits(count, 0);
      pool.run(count, 7, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          ++visits[i];
        }
      });
      EXPECT_THAT(visits, ::testing::Each(1)) << threads << " threads, " << count << " items";
    }
  }
}

TEST(WorkerPool, RunsTheStartFunctionOnEveryNewThread) {
  std::atomic<int> started = 0;
  {
    WorkerPool pool(3, [&] { ++started; });
  }
  EXPECT_EQ(started, 2);
}

}  // namespace
}  // namespace rudder::train

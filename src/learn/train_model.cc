// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/rng.h"
#include "rudder/core/text.h"
#include "rudder/learn/model.h"

#include "learn/early_stopping.h"
#include "learn/model_parts.h"
#include "learn/opencv_trainers.h"

namespace rudder::learn {
namespace {

constexpr std::uint64_t kResampling = 0x7265'7361;  ///< stream of random numbers

/// Most rows that a library is given: what its training takes seconds for.
constexpr std::size_t kMostRows = 20'000;
constexpr std::size_t kMostSvmRows = 4'000;  ///< its time grows with their square

Status check(std::string_view kind, const Samples& samples) {
  const auto bad = [&](const std::string& what) {
    return Error{Errc::kInvalidArgument, fmt::format("classifier {}: {}", kind, what)};
  };
  std::vector<std::string_view> names;
  for (const ModelKind& each : model_kinds()) {
    names.push_back(each.name);
  }
  if (std::find(names.begin(), names.end(), kind) == names.end()) {
    const std::string near = nearest_name(kind, names);
    return Error{Errc::kInvalidArgument,
                 fmt::format("unknown classifier '{}' ({})", kind,
                             near.empty() ? "known: lr, svm, mlp, rf, xgb" : "did you mean '" + near + "'?")};
  }
  if (samples.labels.empty()) {
    return bad("there is nothing to learn from");
  }
  if (samples.columns < 1 || samples.columns > kMostColumns || samples.classes < 1 ||
      samples.classes > kMostClasses || samples.rows.size() != samples.labels.size() * samples.columns ||
      (!samples.weights.empty() && samples.weights.size() != samples.labels.size())) {
    return bad(fmt::format("{} numbers and {} weights for {} rows of {} columns and {} classes",
                           samples.rows.size(), samples.weights.size(), samples.labels.size(),
                           samples.columns, samples.classes));
  }
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    const auto row = samples.rows.subspan(i * samples.columns, samples.columns);
    const double weight = samples.weights.empty() ? 1 : samples.weights[i];
    if (samples.labels[i] >= samples.classes || !(weight >= 0) || !std::isfinite(weight) ||
        !std::all_of(row.begin(), row.end(), [](float value) { return std::isfinite(value); })) {
      return bad(fmt::format("row {} has class {} of {}, weight {}, or a number that is not finite", i,
                             samples.labels[i], samples.classes, weight));
    }
  }
  return {};
}

/// Mean and deviation of each column; a column of one value gets deviation 1.
void standardise(const Samples& samples, std::vector<double>& mean, std::vector<double>& scale) {
  const auto count = static_cast<double>(samples.labels.size());
  mean.assign(samples.columns, 0);
  scale.assign(samples.columns, 0);
  for (std::size_t i = 0; i < samples.rows.size(); ++i) {
    mean[i % samples.columns] += static_cast<double>(samples.rows[i]) / count;
  }
  for (std::size_t i = 0; i < samples.rows.size(); ++i) {
    const double off = static_cast<double>(samples.rows[i]) - mean[i % samples.columns];
    scale[i % samples.columns] += off * off / count;
  }
  for (std::size_t column = 0; column < samples.columns; ++column) {
    const double deviation = std::sqrt(scale[column]);
    scale[column] = deviation > 1e-9 * std::max(1.0, std::abs(mean[column])) ? deviation : 1;
  }
}

std::vector<double> weights_of(const Samples& samples) {
  std::vector<double> weights(samples.weights.begin(), samples.weights.end());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(sum > 0) || !std::isfinite(sum)) {
    weights.assign(samples.labels.size(), 1.0);
  }
  return weights;
}

/// Rows in the order in which a library sees them. Boosting takes weights as they are. The others take none:
/// they get rows as often as their weight says (systematic resampling: each within one of its expectation,
/// exactly once each where all weigh the same), shuffled.
std::vector<std::size_t> rows_for(std::string_view kind, const std::vector<double>& weights,
                                  std::uint64_t seed) {
  std::vector<std::size_t> rows;
  if (kind == "xgb") {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] > 0) {
        rows.push_back(i);
      }
    }
    return rows;
  }
  CounterRng rng({seed, kResampling});
  const std::size_t count = std::min(weights.size(), kind == "svm" ? kMostSvmRows : kMostRows);
  const double step = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(count);
  double next = rng.unit() * step;
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    for (; next < sum && rows.size() < count; next += step) {
      rows.push_back(i);
    }
  }
  for (std::size_t i = rows.size(); i > 1; --i) {
    std::swap(rows[i - 1], rows[rng.below(i)]);
  }
  return rows;
}

/// Which of the classes those rows have; -1: none.
std::vector<std::int32_t> places_of(const Samples& samples, std::span<const std::size_t> rows,
                                    std::vector<std::uint32_t>& present) {
  std::vector<std::int32_t> place(samples.classes, -1);
  for (const std::size_t row : rows) {
    place[samples.labels[row]] = 0;
  }
  for (std::uint32_t label = 0; label < samples.classes; ++label) {
    if (place[label] == 0) {
      place[label] = static_cast<std::int32_t>(present.size());
      present.push_back(label);
    }
  }
  return place;
}

}  // namespace

Result<Model> Model::train(std::string_view kind, const Samples& samples, std::uint64_t seed) {
  RUDDER_TRY(check(kind, samples));
  auto impl = std::make_unique<Impl>();
  impl->kind = kind;
  impl->classes = samples.classes;
  standardise(samples, impl->mean, impl->scale);
  const std::vector<double> weights = weights_of(samples);
  const std::vector<std::size_t> rows = rows_for(kind, weights, seed);
  const std::vector<std::int32_t> place = places_of(samples, rows, impl->present);
  if (impl->present.size() == 1) {
    return Model(std::move(impl));
  }
  Prepared input;
  input.columns = samples.columns;
  input.classes = static_cast<std::uint32_t>(impl->present.size());
  const double mean_weight =
      std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  for (const std::size_t row : rows) {
    for (std::size_t column = 0; column < samples.columns; ++column) {
      const auto value = static_cast<double>(samples.rows[row * samples.columns + column]);
      input.rows.push_back(static_cast<float>((value - impl->mean[column]) / impl->scale[column]));
    }
    input.labels.push_back(place[samples.labels[row]]);
    input.weights.push_back(static_cast<float>(weights[row] / mean_weight));
  }
  if (kind == "lr") {
    RUDDER_ASSIGN(impl->body, train_logistic(input));
  } else if (kind == "svm") {
    RUDDER_ASSIGN(impl->body, train_linear_svm(input));
  } else if (kind == "mlp") {
    RUDDER_ASSIGN(impl->body, train_network_until(input));
  } else if (kind == "rf") {
    RUDDER_ASSIGN(impl->body, train_random_forest(input));
  } else {
    RUDDER_ASSIGN(impl->body, train_boosted_until(input, seed));
  }
  return Model(std::move(impl));
}

}  // namespace rudder::learn

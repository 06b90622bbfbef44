// SPDX-License-Identifier: Apache-2.0
// Classifiers over plain rows of numbers. Libraries train them; what they learned is kept as plain arrays and
// evaluated here, so that choosing a class calls no library, takes microseconds and allocates little, and a
// model from outside is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "rudder/core/result.h"

namespace rudder::learn {

inline constexpr std::uint32_t kMostClasses = 64;
inline constexpr std::size_t kMostColumns = 1024;

struct Samples {
  std::span<const float> rows;  ///< row-major, finite
  std::size_t columns = 0;
  std::span<const std::uint32_t> labels;  ///< one a row, below `classes`
  std::span<const double> weights;  ///< one a row, what an error on it costs, not negative; empty: all alike
  std::uint32_t classes = 0;
};

/// A kind of model.
struct ModelKind {
  std::string_view name;
  std::string_view help;
};
/// lr, svm, mlp, rf, xgb.
[[nodiscard]] std::span<const ModelKind> model_kinds();

class Model {
 public:
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// Columns are standardised by mean and deviation of these rows. A class that no row of positive weight has
  /// gets probability 0; with one class only, it is chosen always. Rows all of weight 0 count alike.
  /// Deterministic for a seed, on one thread. kInvalidArgument: no rows, an unknown kind, numbers out of
  /// range; kInternal: the library refused.
  [[nodiscard]] static Result<Model> train(std::string_view kind, const Samples& samples, std::uint64_t seed);
  [[nodiscard]] static Result<Model> from_json(const nlohmann::json& json);
  [[nodiscard]] nlohmann::json to_json() const;

  [[nodiscard]] std::string_view kind() const noexcept;
  [[nodiscard]] std::uint32_t classes() const noexcept;
  [[nodiscard]] std::size_t columns() const noexcept;
  /// `row` has columns() numbers, `out` classes(). They sum to 1; only lr's and xgb's are fitted as
  /// probabilities, the others' order the classes. Thread-safe.
  void probabilities(std::span<const float> row, std::span<double> out) const;

 private:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::learn

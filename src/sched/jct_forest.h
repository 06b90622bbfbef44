// SPDX-License-Identifier: Apache-2.0
// Regression trees as plain arrays: what XGBoost has learned, evaluated and stored without it, so that a
// model file from outside is checked here and not by a library that trusts its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "rudder/core/result.h"

namespace rudder::sched {

struct TreeNode {
  float threshold = 0;     ///< of a leaf: its value
  std::int32_t left = -1;  ///< where feature < threshold; -1: a leaf
  std::int32_t right = -1;
  std::int32_t feature = 0;
};

/// Sums of trees, one sum a group (class).
class Forest {
 public:
  /// Out of the JSON form of an XGBoost model.
  [[nodiscard]] static Result<Forest> from_xgboost(const std::string& model);
  /// Out of `to_json`; `groups` and `features` bound what trees may name. kInvalidData says which tree is
  /// wrong.
  [[nodiscard]] static Result<Forest> from_json(const nlohmann::json& json, std::int32_t groups,
                                                std::int32_t features);
  [[nodiscard]] nlohmann::json to_json() const;

  /// Adds each group's sum of leaves to `sums`.
  void add(std::span<const float> row, std::span<double> sums) const;
  [[nodiscard]] std::size_t trees() const noexcept { return roots_.size(); }

 private:
  [[nodiscard]] Status append(const nlohmann::json& left, const nlohmann::json& right,
                              const nlohmann::json& feature, const nlohmann::json& threshold,
                              std::int32_t group, std::int32_t features);

  std::vector<TreeNode> nodes_;
  std::vector<std::int32_t> roots_;
  std::vector<std::int32_t> groups_;
};

}  // namespace rudder::sched

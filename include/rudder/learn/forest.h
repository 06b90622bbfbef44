// SPDX-License-Identifier: Apache-2.0
// Decision trees as plain arrays: what a library has learned, evaluated and stored without it, so that a
// model file from outside is checked here and not by a library that trusts its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "rudder/core/result.h"

namespace rudder::learn {

struct TreeNode {
  float threshold = 0;     ///< of a leaf: what it adds
  std::int32_t left = -1;  ///< where feature < threshold; -1: a leaf
  std::int32_t right = -1;
  std::int32_t feature = 0;  ///< of a leaf: added to the tree's group, so that one tree may vote for several
};

/// What the trees of a forest may name.
struct ForestBounds {
  std::int32_t groups = 1;
  std::int32_t features = 1;
};

/// Sums of trees, one sum a group (class).
class Forest {
 public:
  /// Out of the JSON form of an XGBoost model.
  [[nodiscard]] static Result<Forest> from_xgboost(const std::string& model);
  /// Out of `to_json`. kInvalidData says which tree is wrong.
  [[nodiscard]] static Result<Forest> from_json(const nlohmann::json& json, const ForestBounds& bounds);
  [[nodiscard]] nlohmann::json to_json() const;

  /// One tree more. Children are positions in `nodes`, behind their parent. kInvalidData for anything else.
  [[nodiscard]] Status add_tree(std::span<const TreeNode> nodes, std::int32_t group,
                                const ForestBounds& bounds);
  /// Adds each group's sum of leaves to `sums`. O(trees x depth).
  void add(std::span<const float> row, std::span<double> sums) const { add(row, sums, 0, trees()); }
  /// The same of trees [first, end).
  void add(std::span<const float> row, std::span<double> sums, std::size_t first, std::size_t end) const;
  /// A forest of the first `count` trees.
  [[nodiscard]] Forest first(std::size_t count) const;
  [[nodiscard]] std::size_t trees() const noexcept { return roots_.size(); }

 private:
  std::vector<TreeNode> nodes_;
  std::vector<std::int32_t> roots_;
  std::vector<std::int32_t> groups_;
};

}  // namespace rudder::learn

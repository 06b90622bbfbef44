// SPDX-License-Identifier: Apache-2.0
#include "rudder/learn/forest.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "learn/json_member.h"

namespace rudder::learn {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostNodes = std::size_t{1} << 24;
constexpr std::int32_t kMostFeatures = 1 << 16;
constexpr std::int32_t kMostGroups = 1 << 16;

bool all_integers(const Json& array) {
  if (!array.is_array()) {
    return false;
  }
  for (const Json& value : array) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < -1 ||
        value.get<std::int64_t>() >= static_cast<std::int64_t>(kMostNodes)) {
      return false;
    }
  }
  return true;
}

bool all_numbers(const Json& array) {
  if (!array.is_array()) {
    return false;
  }
  for (const Json& value : array) {
    if (!value.is_number() || !(std::abs(value.get<double>()) <= double{std::numeric_limits<float>::max()})) {
      return false;
    }
  }
  return true;
}

/// The four arrays of a tree, under the names that its writer gave them.
struct TreeArrays {
  const Json& left;
  const Json& right;
  const Json& feature;
  const Json& threshold;
};

Result<std::vector<TreeNode>> nodes_of(const TreeArrays& arrays, std::size_t tree) {
  const auto bad = [&](const char* what) {
    return Error{Errc::kInvalidData, fmt::format("tree {}: {}", tree, what)};
  };
  if (!all_integers(arrays.left) || !all_integers(arrays.right) || !all_integers(arrays.feature) ||
      !all_numbers(arrays.threshold)) {
    return bad("not arrays of numbers in range");
  }
  const std::size_t size = arrays.left.size();
  if (arrays.right.size() != size || arrays.feature.size() != size || arrays.threshold.size() != size) {
    return bad("arrays of different lengths");
  }
  std::vector<TreeNode> nodes(size);
  for (std::size_t i = 0; i < size; ++i) {
    nodes[i] = {.threshold = arrays.threshold[i].get<float>(),
                .left = arrays.left[i].get<std::int32_t>(),
                .right = arrays.right[i].get<std::int32_t>(),
                .feature = arrays.feature[i].get<std::int32_t>()};
  }
  return nodes;
}

}  // namespace

Status Forest::add_tree(std::span<const TreeNode> nodes, std::int32_t group, const ForestBounds& bounds) {
  const auto bad = [&](const char* what) {
    return Error{Errc::kInvalidData, fmt::format("tree {}: {}", trees(), what)};
  };
  if (nodes.empty() || nodes_.size() + nodes.size() > kMostNodes) {
    return bad(nodes.empty() ? "it is empty" : "more nodes than a model may have");
  }
  if (group < 0 || group >= bounds.groups) {
    return bad("an unknown class");
  }
  const auto base = static_cast<std::int32_t>(nodes_.size());
  const auto end = static_cast<std::int32_t>(nodes.size());
  for (std::int32_t here = 0; here < end; ++here) {
    const TreeNode& node = nodes[static_cast<std::size_t>(here)];
    if (node.left == -1 && node.right == -1) {
      if (node.feature < 0 || node.feature >= bounds.groups - group) {
        return bad("a leaf of an unknown class");
      }
    } else if (node.left <= here || node.right <= here || node.left >= end || node.right >= end) {
      // Children behind their parent: every walk ends.
      return bad("a child that does not lie behind its parent");
    } else if (node.feature < 0 || node.feature >= bounds.features) {
      return bad("an unknown feature");
    }
  }
  for (TreeNode node : nodes) {
    if (node.left >= 0) {
      node.left += base;
      node.right += base;
    }
    nodes_.push_back(node);
  }
  roots_.push_back(base);
  groups_.push_back(group);
  return {};
}

Result<Forest> Forest::from_xgboost(const std::string& model) {
  const Json json = Json::parse(model, nullptr, false);
  const Json& booster = at(at(at(json, "learner"), "gradient_booster"), "model");
  const Json& trees = at(booster, "trees");
  const Json& info = at(booster, "tree_info");
  if (!trees.is_array() || !all_integers(info) || info.size() != trees.size()) {
    return Error{Errc::kInternal, "XGBoost: its model has no trees"};
  }
  Forest forest;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const Json& tree = trees[t];
    RUDDER_ASSIGN(std::vector<TreeNode> nodes,
                  nodes_of({at(tree, "left_children"), at(tree, "right_children"), at(tree, "split_indices"),
                            at(tree, "split_conditions")},
                           t));
    for (TreeNode& node : nodes) {
      if (node.left == -1) {
        node.feature = 0;  // of no meaning in its leaves
      }
    }
    RUDDER_TRY(forest.add_tree(nodes, info[t].get<std::int32_t>(), {kMostGroups, kMostFeatures}));
  }
  return forest;
}

Result<Forest> Forest::from_json(const Json& json, const ForestBounds& bounds) {
  if (!json.is_array()) {
    return Error{Errc::kInvalidData, "a forest is not an array of trees"};
  }
  Forest forest;
  for (const Json& tree : json) {
    const std::size_t number = forest.trees();
    const Json& group = at(tree, "group");
    if (!group.is_number_integer() || group.get<std::int64_t>() < 0 ||
        group.get<std::int64_t>() >= bounds.groups) {
      return Error{Errc::kInvalidData, fmt::format("tree {}: an unknown class", number)};
    }
    RUDDER_ASSIGN(
        const std::vector<TreeNode> nodes,
        nodes_of({at(tree, "left"), at(tree, "right"), at(tree, "feature"), at(tree, "threshold")}, number));
    RUDDER_TRY(forest.add_tree(nodes, group.get<std::int32_t>(), bounds));
  }
  return forest;
}

Json Forest::to_json() const {
  Json trees = Json::array();
  for (std::size_t t = 0; t < roots_.size(); ++t) {
    const std::int32_t base = roots_[t];
    const std::size_t end = t + 1 < roots_.size() ? static_cast<std::size_t>(roots_[t + 1]) : nodes_.size();
    Json left = Json::array();
    Json right = Json::array();
    Json feature = Json::array();
    Json threshold = Json::array();
    for (auto i = static_cast<std::size_t>(base); i < end; ++i) {
      left.push_back(nodes_[i].left < 0 ? -1 : nodes_[i].left - base);
      right.push_back(nodes_[i].right < 0 ? -1 : nodes_[i].right - base);
      feature.push_back(nodes_[i].feature);
      threshold.push_back(nodes_[i].threshold);
    }
    trees.push_back({{"group", groups_[t]},
                     {"left", std::move(left)},
                     {"right", std::move(right)},
                     {"feature", std::move(feature)},
                     {"threshold", std::move(threshold)}});
  }
  return trees;
}

Forest Forest::first(std::size_t count) const {
  Forest forest = *this;
  if (count < trees()) {
    forest.nodes_.resize(static_cast<std::size_t>(roots_[count]));
    forest.roots_.resize(count);
    forest.groups_.resize(count);
  }
  return forest;
}

void Forest::add(std::span<const float> row, std::span<double> sums, std::size_t first,
                 std::size_t end) const {
  for (std::size_t t = first; t < end; ++t) {
    const TreeNode* node = &nodes_[static_cast<std::size_t>(roots_[t])];
    while (node->left >= 0) {
      const bool goes_left = row[static_cast<std::size_t>(node->feature)] < node->threshold;
      node = &nodes_[static_cast<std::size_t>(goes_left ? node->left : node->right)];
    }
    sums[static_cast<std::size_t>(groups_[t] + node->feature)] += static_cast<double>(node->threshold);
  }
}

}  // namespace rudder::learn

// SPDX-License-Identifier: Apache-2.0
#include "sched/jct_forest.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace rudder::sched {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostNodes = std::size_t{1} << 24;
constexpr std::int32_t kMostFeatures = 1 << 16;

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

const Json& at(const Json& json, const char* key) {
  static const Json kNothing;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() ? *found : kNothing;
}

}  // namespace

Status Forest::append(const Json& left, const Json& right, const Json& feature, const Json& threshold,
                      std::int32_t group, std::int32_t features) {
  const auto bad = [&](const char* what) {
    return Error{Errc::kInvalidData, fmt::format("tree {}: {}", roots_.size(), what)};
  };
  if (!all_integers(left) || !all_integers(right) || !all_integers(feature) || !all_numbers(threshold)) {
    return bad("not arrays of numbers in range");
  }
  const std::size_t size = left.size();
  if (size == 0 || right.size() != size || feature.size() != size || threshold.size() != size) {
    return bad("arrays of different lengths");
  }
  if (nodes_.size() + size > kMostNodes) {
    return bad("more nodes than a model may have");
  }
  const auto base = static_cast<std::int32_t>(nodes_.size());
  for (std::size_t i = 0; i < size; ++i) {
    TreeNode node{.threshold = threshold[i].get<float>(),
                  .left = left[i].get<std::int32_t>(),
                  .right = right[i].get<std::int32_t>(),
                  .feature = feature[i].get<std::int32_t>()};
    const auto here = static_cast<std::int32_t>(i);
    const auto end = static_cast<std::int32_t>(size);
    if (node.left == -1 && node.right == -1) {
      node.feature = 0;
    } else if (node.left <= here || node.right <= here || node.left >= end || node.right >= end) {
      // Children behind their parent: every walk ends.
      return bad("a child that does not lie behind its parent");
    } else if (node.feature < 0 || node.feature >= features) {
      return bad("an unknown feature");
    } else {
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
    RUDDER_TRY(forest.append(at(tree, "left_children"), at(tree, "right_children"), at(tree, "split_indices"),
                             at(tree, "split_conditions"), info[t].get<std::int32_t>(), kMostFeatures));
  }
  return forest;
}

Result<Forest> Forest::from_json(const Json& json, std::int32_t groups, std::int32_t features) {
  if (!json.is_array()) {
    return Error{Errc::kInvalidData, "a forest is not an array of trees"};
  }
  Forest forest;
  for (const Json& tree : json) {
    const Json& group = at(tree, "group");
    if (!group.is_number_integer() || group.get<std::int64_t>() < 0 || group.get<std::int64_t>() >= groups) {
      return Error{Errc::kInvalidData, fmt::format("tree {}: an unknown class", forest.trees())};
    }
    RUDDER_TRY(forest.append(at(tree, "left"), at(tree, "right"), at(tree, "feature"), at(tree, "threshold"),
                             group.get<std::int32_t>(), features));
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

void Forest::add(std::span<const float> row, std::span<double> sums) const {
  for (std::size_t t = 0; t < roots_.size(); ++t) {
    const TreeNode* node = &nodes_[static_cast<std::size_t>(roots_[t])];
    while (node->left >= 0) {
      const bool goes_left = row[static_cast<std::size_t>(node->feature)] < node->threshold;
      node = &nodes_[static_cast<std::size_t>(goes_left ? node->left : node->right)];
    }
    sums[static_cast<std::size_t>(groups_[t])] += static_cast<double>(node->threshold);
  }
}

}  // namespace rudder::sched

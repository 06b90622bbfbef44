// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/learn/model.h"

#include "learn/json_member.h"
#include "learn/model_parts.h"

namespace rudder::learn {
namespace {

using Json = nlohmann::json;

constexpr double kMostWeight = 1e30;
constexpr std::size_t kMostLayers = 8;
constexpr std::size_t kMostOutputs = 4096;  ///< of a layer

Error bad(const std::string& what) {
  return {Errc::kInvalidData, what};
}

Result<std::uint64_t> whole(const Json& json, const char* key, std::uint64_t low, std::uint64_t high) {
  const Json& value = at(json, key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < low || value.get<std::uint64_t>() > high) {
    return bad(fmt::format("'{}' is not a whole number in {}..{}", key, low, high));
  }
  return value.get<std::uint64_t>();
}

Result<std::vector<double>> numbers(const Json& json, const char* key, std::size_t count) {
  const Json& array = at(json, key);
  if (!array.is_array() || array.size() != count) {
    return bad(fmt::format("'{}' is not an array of {} numbers", key, count));
  }
  std::vector<double> values;
  values.reserve(count);
  for (const Json& value : array) {
    if (!value.is_number() || !(std::abs(value.get<double>()) <= kMostWeight)) {
      return bad(fmt::format("'{}'[{}] is not a number", key, values.size()));
    }
    values.push_back(value.get<double>());
  }
  return values;
}

Json json_of(const Affine& affine) {
  return {{"outputs", affine.outputs}, {"weights", affine.weights}};
}

Result<Affine> affine_of(const Json& json, std::size_t inputs) {
  RUDDER_ASSIGN(const std::uint64_t outputs, whole(json, "outputs", 1, kMostOutputs));
  RUDDER_ASSIGN(std::vector<double> weights, numbers(json, "weights", outputs * (inputs + 1)));
  return Affine{inputs, static_cast<std::size_t>(outputs), std::move(weights)};
}

Result<Linear> linear_of(const Json& json, std::size_t columns, std::size_t classes) {
  RUDDER_ASSIGN(Affine scores, affine_of(json, columns));
  if (scores.outputs != (classes == 2 ? 1 : classes)) {
    return bad(fmt::format("'linear' has {} outputs for {} classes", scores.outputs, classes));
  }
  return Linear{std::move(scores)};
}

Result<Network> network_of(const Json& json, std::size_t columns, std::size_t classes) {
  if (!json.is_array() || json.empty() || json.size() > kMostLayers) {
    return bad(fmt::format("'network' is not an array of 1 to {} layers", kMostLayers));
  }
  Network network;
  for (const Json& layer : json) {
    const std::size_t inputs = network.layers.empty() ? columns : network.layers.back().outputs;
    RUDDER_ASSIGN(Affine affine, affine_of(layer, inputs));
    network.layers.push_back(std::move(affine));
  }
  if (network.layers.back().outputs != classes) {
    return bad(
        fmt::format("'network' has {} outputs for {} classes", network.layers.back().outputs, classes));
  }
  return network;
}

Result<std::vector<std::uint32_t>> present_of(const Json& json, std::uint32_t classes) {
  const Json& array = at(json, "present");
  std::vector<std::uint32_t> present;
  if (!array.is_array() || array.empty() || array.size() > classes) {
    return bad(fmt::format("'present' is not an array of 1 to {} classes", classes));
  }
  for (const Json& value : array) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= classes ||
        (!present.empty() && value.get<std::uint64_t>() <= present.back())) {
      return bad(fmt::format("'present'[{}] is not a class above the one before", present.size()));
    }
    present.push_back(value.get<std::uint32_t>());
  }
  return present;
}

}  // namespace

Json Model::to_json() const {
  Json json = {{"kind", impl_->kind},       {"columns", columns()}, {"classes", classes()},
               {"present", impl_->present}, {"mean", impl_->mean},  {"scale", impl_->scale}};
  if (const auto* linear = std::get_if<Linear>(&impl_->body)) {
    json["linear"] = json_of(linear->scores);
  } else if (const auto* network = std::get_if<Network>(&impl_->body)) {
    json["network"] = Json::array();
    for (const Affine& layer : network->layers) {
      json["network"].push_back(json_of(layer));
    }
  } else if (const auto* forest = std::get_if<Forest>(&impl_->body)) {
    json["forest"] = forest->to_json();
  }
  return json;
}

Result<Model> Model::from_json(const Json& json) {
  auto impl = std::make_unique<Impl>();
  for (const ModelKind& kind : model_kinds()) {
    if (at(json, "kind") == kind.name) {
      impl->kind = kind.name;
    }
  }
  if (impl->kind.empty()) {
    return bad("'kind' is not that of a classifier");
  }
  RUDDER_ASSIGN(const std::uint64_t columns, whole(json, "columns", 1, kMostColumns));
  RUDDER_ASSIGN(const std::uint64_t classes, whole(json, "classes", 1, kMostClasses));
  impl->classes = static_cast<std::uint32_t>(classes);
  RUDDER_ASSIGN(impl->present, present_of(json, impl->classes));
  RUDDER_ASSIGN(impl->mean, numbers(json, "mean", columns));
  RUDDER_ASSIGN(impl->scale, numbers(json, "scale", columns));
  for (const double scale : impl->scale) {
    if (!(scale > 1e-30)) {
      return bad(fmt::format("'scale' holds {}, which is not positive", scale));
    }
  }
  const std::size_t outputs = impl->present.size();
  if (outputs == 1) {
    return Model(std::move(impl));
  }
  if (impl->kind == "lr" || impl->kind == "svm") {
    RUDDER_ASSIGN(impl->body, linear_of(at(json, "linear"), columns, outputs));
  } else if (impl->kind == "mlp") {
    RUDDER_ASSIGN(impl->body, network_of(at(json, "network"), columns, outputs));
  } else {
    RUDDER_ASSIGN(Forest forest, Forest::from_json(at(json, "forest"), {static_cast<std::int32_t>(outputs),
                                                                        static_cast<std::int32_t>(columns)}));
    if (forest.trees() == 0) {
      return bad("'forest' has no trees");
    }
    impl->body = std::move(forest);
  }
  return Model(std::move(impl));
}

}  // namespace rudder::learn

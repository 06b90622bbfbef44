// SPDX-License-Identifier: Apache-2.0
// Topologies in JSON: topograph's graph engine and Kubernetes node lists.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/text.h"

#include "place/json_document.h"
#include "place/topology_readers.h"

namespace rudder::place {
namespace {

using nlohmann::json;

constexpr std::string_view kTierPrefix = "fabric.topograph.run/tier-";
constexpr std::array<std::string_view, 3> kOldTopographKeys = {"network.topology.nvidia.com/core",
                                                               "network.topology.nvidia.com/spine",
                                                               "network.topology.nvidia.com/leaf"};
constexpr std::array<std::string_view, 2> kZoneKeys = {"topology.kubernetes.io/zone",
                                                       "topology.kubernetes.io/rack"};

Place element(std::string_view list, std::size_t index) {
  return {0, fmt::format("{}[{}]", list, index)};
}

/// Chains an instance's switches, leaf first, and hangs it on the first.
Status add_instance(const json& instance, const Place& place, TopologyBuilder& builder) {
  const std::string_view id = text_member(instance, "id");
  if (id.empty()) {
    return builder.error(place, "an instance without an id");
  }
  SwitchId leaf = kNoSwitch;
  SwitchId below = kNoSwitch;
  const json* layers = member(instance, "network_layers");
  if (layers != nullptr && !layers->is_array() && !layers->is_null()) {
    return builder.error(place, "network_layers is no list");
  }
  if (layers != nullptr && layers->is_array()) {
    for (const json& layer : *layers) {
      const auto* name = layer.get_ptr<const std::string*>();
      if (name == nullptr) {
        return builder.error(place, "network_layers holds something that is no text");
      }
      if (name->empty()) {  // topograph pads short paths with empty names
        continue;
      }
      RUDDER_ASSIGN(const SwitchId above, builder.mention(*name, place));
      if (below != kNoSwitch) {
        RUDDER_TRY(builder.set_parent(below, above, place));
      }
      leaf = leaf == kNoSwitch ? above : leaf;
      below = above;
    }
  }
  return builder.add_host(id, leaf, place);
}

/// Values of a node's domain labels, outermost first. Empty when one is missing.
template <class Keys>
std::vector<std::string> label_path(const json& labels, const Keys& keys) {
  std::vector<std::string> path;
  for (const auto& key : keys) {
    const std::string_view value = text_member(labels, key);
    if (value.empty()) {
      return {};
    }
    path.emplace_back(value);
  }
  return path;
}

/// Topograph's tiers, as many as there are from 0 on without a gap; 0 is nearest to the node.
std::vector<std::string> tier_path(const json& labels) {
  std::vector<std::string> path;
  constexpr int kMaxTiers = 32;
  for (int tier = 0; tier < kMaxTiers; ++tier) {
    const std::string_view value = text_member(labels, fmt::format("{}{}", kTierPrefix, tier));
    if (value.empty()) {
      break;
    }
    path.emplace_back(value);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

/// The first set of labels that is there; topograph leaves outer keys away on shallow networks.
std::vector<std::string> known_path(const json& labels) {
  if (std::vector<std::string> path = tier_path(labels); !path.empty()) {
    return path;
  }
  const std::span old(kOldTopographKeys);
  for (std::size_t skip = 0; skip < old.size(); ++skip) {
    if (std::vector<std::string> path = label_path(labels, old.subspan(skip)); !path.empty()) {
      return path;
    }
  }
  if (std::vector<std::string> path = label_path(labels, kZoneKeys); !path.empty()) {
    return path;
  }
  return label_path(labels, std::span(kZoneKeys).first(1));
}

/// Cordoned or not Ready: not to be placed on.
HostState kubernetes_state(const json& node) {
  const json* spec = member(node, "spec");
  const json* cordoned = spec == nullptr ? nullptr : member(*spec, "unschedulable");
  if (cordoned != nullptr && cordoned->is_boolean() && cordoned->get<bool>()) {
    return HostState::kDown;
  }
  const json* status = member(node, "status");
  const json* conditions = status == nullptr ? nullptr : member(*status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) {
    return HostState::kFree;
  }
  const bool not_ready = std::any_of(conditions->begin(), conditions->end(), [](const json& condition) {
    return text_member(condition, "type") == "Ready" && text_member(condition, "status") != "True";
  });
  return not_ready ? HostState::kDown : HostState::kFree;
}

Status add_node(const json& node, const Place& place, const TopologyFileOptions& options,
                TopologyBuilder& builder) {
  const json* metadata = member(node, "metadata");
  const std::string_view name = metadata == nullptr ? std::string_view() : text_member(*metadata, "name");
  if (name.empty()) {
    return builder.error(place, "a node without metadata.name");
  }
  const json* found = member(*metadata, "labels");
  const json labels = found == nullptr ? json::object() : *found;
  const std::string_view hostname = text_member(labels, "kubernetes.io/hostname");
  const std::vector<std::string> path =
      options.label_keys.empty() ? known_path(labels) : label_path(labels, options.label_keys);
  // Node selectors match the hostname label, so this is the name to hand over.
  RUDDER_TRY(builder.add_host_below(hostname.empty() ? name : hostname, path, place));
  builder.set_state(kubernetes_state(node));
  return {};
}

}  // namespace

Status read_topograph_graph(std::string_view text, const TopologyFileOptions&, TopologyBuilder& builder) {
  constexpr std::array<std::string_view, 3> kKeep = {"instances", "id", "network_layers"};
  RUDDER_ASSIGN(const json document, parse_json(builder.where(), text, {.keep = kKeep, .keep_whole = {}}));
  const json* instances = document.is_array() ? &document : member(document, "instances");
  if (instances == nullptr || !instances->is_array()) {
    return builder.error({}, "expected {\"instances\": [...]}");
  }
  for (std::size_t i = 0; i < instances->size(); ++i) {
    RUDDER_TRY(add_instance((*instances)[i], element("instances", i), builder));
  }
  return {};
}

Status read_kubernetes(std::string_view text, const TopologyFileOptions& options, TopologyBuilder& builder) {
  constexpr std::array<std::string_view, 9> kKeep = {"items",  "metadata",   "name", "spec", "unschedulable",
                                                     "status", "conditions", "type", "kind"};
  constexpr std::array<std::string_view, 1> kWhole = {"labels"};
  RUDDER_ASSIGN(const json document,
                parse_json(builder.where(), text, {.keep = kKeep, .keep_whole = kWhole}));
  if (text_member(document, "kind") == "Node") {
    return add_node(document, {}, options, builder);
  }
  const json* items = member(document, "items");
  if (items == nullptr || !items->is_array()) {
    return builder.error({}, "expected a list of nodes (kubectl get nodes -o json)");
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    RUDDER_TRY(add_node((*items)[i], element("items", i), options, builder));
  }
  return {};
}

}  // namespace rudder::place

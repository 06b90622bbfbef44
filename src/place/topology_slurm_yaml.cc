// SPDX-License-Identifier: Apache-2.0
// Slurm's topology.yaml, https://slurm.schedmd.com/topology.yaml.html: a list of named topologies.
#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/place/hostlist.h"

#include "place/topology_readers.h"
#include "place/yaml_document.h"

namespace rudder::place {
namespace {

/// The list under a key; absence and other kinds are errors.
Result<const YamlNode*> list_of(const YamlNode& map, std::string_view key, const TopologyBuilder& builder) {
  const YamlNode* list = map.find(key);
  if (list == nullptr || list->kind != YamlNode::Kind::kList) {
    return builder.error(at(list == nullptr ? map : *list), fmt::format("expected a list under '{}'", key));
  }
  return list;
}

Result<std::string> text_of(const YamlNode& map, std::string_view key, const TopologyBuilder& builder) {
  const YamlNode* value = map.find(key);
  if (value == nullptr || value->kind != YamlNode::Kind::kScalar) {
    return builder.error(at(value == nullptr ? map : *value), fmt::format("expected a text under '{}'", key));
  }
  return value->text;
}

Status read_tree(const YamlNode& tree, TopologyBuilder& builder) {
  RUDDER_ASSIGN(const YamlNode* switches, list_of(tree, "switches", builder));
  for (const YamlNode& item : switches->items) {
    RUDDER_ASSIGN(const std::string name, text_of(item, "switch", builder));
    RUDDER_ASSIGN(const SwitchId id, builder.declare(name, at(item)));
    if (item.find("children") != nullptr) {
      RUDDER_ASSIGN(const std::string children, text_of(item, "children", builder));
      Result<std::vector<std::string>> names = expand_hostlist(children, kMaxHosts);
      if (!names) {
        return builder.error(at(item), names.error().message);
      }
      for (const std::string& child : *names) {
        RUDDER_ASSIGN(const SwitchId below, builder.mention(child, at(item)));
        RUDDER_TRY(builder.set_parent(below, id, at(item)));
      }
    }
    if (item.find("nodes") != nullptr) {
      RUDDER_ASSIGN(const std::string nodes, text_of(item, "nodes", builder));
      RUDDER_TRY(builder.add_hosts(nodes, id, at(*item.find("nodes"))));
    }
  }
  return builder.require_declared();
}

Status read_block(const YamlNode& block, TopologyBuilder& builder) {
  std::vector<std::int64_t> sizes;
  Place sizes_place = at(block);
  if (block.find("block_sizes") != nullptr) {
    RUDDER_ASSIGN(const YamlNode* list, list_of(block, "block_sizes", builder));
    sizes_place = at(*list);
    for (const YamlNode& item : list->items) {
      const auto size = parse_int(item.text);
      if (!size) {
        return builder.error(at(item),
                             fmt::format("a block size is no number: '{}'", item.text.substr(0, 80)));
      }
      sizes.push_back(*size);
    }
  }
  RUDDER_ASSIGN(const YamlNode* list, list_of(block, "blocks", builder));
  std::vector<std::pair<std::string, SwitchId>> blocks;
  for (const YamlNode& item : list->items) {
    RUDDER_ASSIGN(std::string name, text_of(item, "block", builder));
    RUDDER_ASSIGN(const std::string nodes, text_of(item, "nodes", builder));
    RUDDER_ASSIGN(const SwitchId id, builder.declare(name, at(item)));
    RUDDER_TRY(builder.add_hosts(nodes, id, at(*item.find("nodes"))));
    blocks.emplace_back(std::move(name), id);
  }
  return aggregate_blocks(blocks, sizes, sizes_place, builder);
}

/// The topology asked for: by name, else the default of the cluster, else the first.
Result<const YamlNode*> choose(const YamlNode& list, const std::string& wanted,
                               const TopologyBuilder& builder) {
  const YamlNode* chosen = nullptr;
  for (const YamlNode& item : list.items) {
    RUDDER_ASSIGN(const std::string name, text_of(item, "topology", builder));
    const YamlNode* is_default = item.find("cluster_default");
    if (wanted.empty() ? is_default != nullptr && is_default->text == "true" : name == wanted) {
      if (chosen != nullptr) {
        return builder.error(at(item),
                             fmt::format("'{}' is a second {}", name,
                                         wanted.empty() ? "cluster_default" : "topology of that name"));
      }
      chosen = &item;
    }
  }
  if (chosen == nullptr && !wanted.empty()) {
    return Error{Errc::kNotFound, fmt::format("{}: no topology '{}'", builder.where(), wanted)};
  }
  return chosen != nullptr ? chosen : &list.items.front();
}

}  // namespace

Status read_slurm_yaml(std::string_view text, const TopologyFileOptions& options, TopologyBuilder& builder) {
  RUDDER_ASSIGN(const std::vector<YamlNode> documents, parse_yaml(builder.where(), text));
  if (documents.size() != 1 || documents[0].kind != YamlNode::Kind::kList || documents[0].items.empty()) {
    return builder.error({}, "expected one YAML list of topologies");
  }
  RUDDER_ASSIGN(const YamlNode* chosen, choose(documents[0], options.topology_name, builder));
  if (documents[0].items.size() > 1) {
    builder.remark(fmt::format("the file has {} topologies; '{}' is used", documents[0].items.size(),
                               chosen->find("topology")->text));
  }
  const YamlNode* const block = chosen->find("block");
  if (const YamlNode* tree = chosen->find("tree")) {
    if (block != nullptr) {
      return builder.error(at(*block), "a topology is a tree or blocks, not both");
    }
    return read_tree(*tree, builder);
  }
  if (block != nullptr) {
    return read_block(*block, builder);
  }
  return Error{
      Errc::kUnsupported,
      builder.error(at(*chosen), "only tree and block topologies name hosts and their places").message};
}

}  // namespace rudder::place

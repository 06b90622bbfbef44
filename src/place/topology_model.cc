// SPDX-License-Identifier: Apache-2.0
// Topograph's model files, https://github.com/NVIDIA/topograph/blob/main/docs/modeling.md, in all forms that
// its own tests have had: `switches` as a map or as a list with names; nodes under switches, under `blocks`
// ({switch, nodes}), or under `capacity_blocks` that switches name.
#include <fmt/format.h>

#include "rudder/place/hostlist.h"

#include "place/topology_readers.h"
#include "place/yaml_document.h"

namespace rudder::place {
namespace {

/// An entry of a section that is a map from names or a list of maps with a name.
struct Entry {
  std::string name;
  const YamlNode* value = nullptr;
};

Result<std::vector<Entry>> entries_of(const YamlNode& document, std::string_view section,
                                      const TopologyBuilder& builder) {
  std::vector<Entry> entries;
  const YamlNode* node = document.find(section);
  if (node == nullptr || node->kind == YamlNode::Kind::kNull) {
    return entries;
  }
  for (std::size_t i = 0; i < node->keys.size(); ++i) {
    entries.push_back({node->keys[i], &node->items[i]});
  }
  if (node->kind == YamlNode::Kind::kMap) {
    return entries;
  }
  for (const YamlNode& item : node->items) {
    const YamlNode* name = item.find("name");
    if (name == nullptr || name->kind != YamlNode::Kind::kScalar) {
      return builder.error(at(item), fmt::format("an entry of '{}' has no name", section));
    }
    entries.push_back({name->text, &item});
  }
  if (node->kind == YamlNode::Kind::kScalar) {
    return builder.error(at(*node), fmt::format("'{}' is neither a map nor a list", section));
  }
  return entries;
}

/// Names under a key: a list of host list expressions, or one.
struct Names {
  std::vector<std::string> names;
  Place place;
};

Result<Names> names_under(const YamlNode& map, std::string_view key, const TopologyBuilder& builder) {
  Names result;
  const YamlNode* list = map.find(key);
  if (list == nullptr || list->kind == YamlNode::Kind::kNull) {
    return result;
  }
  result.place = at(*list);
  std::vector<const YamlNode*> expressions = {list};
  if (list->kind == YamlNode::Kind::kList) {
    expressions.clear();
    for (const YamlNode& item : list->items) {
      expressions.push_back(&item);
    }
  }
  for (const YamlNode* expression : expressions) {
    if (expression->kind != YamlNode::Kind::kScalar) {
      return builder.error(at(*expression), fmt::format("'{}' holds something that is no name", key));
    }
    Result<std::vector<std::string>> expanded = expand_hostlist(expression->text, kMaxHosts);
    if (!expanded) {
      return builder.error(at(*expression), expanded.error().message);
    }
    if (result.names.size() + expanded->size() > kMaxHosts) {
      return builder.error(at(*expression), fmt::format("more than {} names", kMaxHosts));
    }
    result.names.insert(result.names.end(), expanded->begin(), expanded->end());
  }
  return result;
}

Status hang(const Names& names, SwitchId leaf, TopologyBuilder& builder) {
  for (const std::string& name : names.names) {
    RUDDER_TRY(builder.add_host(name, leaf, names.place));
  }
  return {};
}

Status read_switches(const YamlNode& document, const NameMap<const YamlNode*>& capacity_blocks,
                     TopologyBuilder& builder) {
  RUDDER_ASSIGN(const std::vector<Entry> switches, entries_of(document, "switches", builder));
  for (const Entry& entry : switches) {
    RUDDER_ASSIGN(const SwitchId id, builder.declare(entry.name, at(*entry.value)));
    RUDDER_ASSIGN(const Names children, names_under(*entry.value, "switches", builder));
    for (const std::string& child : children.names) {
      RUDDER_ASSIGN(const SwitchId below, builder.mention(child, children.place));
      RUDDER_TRY(builder.set_parent(below, id, children.place));
    }
    RUDDER_ASSIGN(const Names nodes, names_under(*entry.value, "nodes", builder));
    RUDDER_TRY(hang(nodes, id, builder));
    RUDDER_ASSIGN(const Names blocks, names_under(*entry.value, "capacity_blocks", builder));
    for (const std::string& block : blocks.names) {
      const auto known = capacity_blocks.find(block);
      if (known == capacity_blocks.end()) {
        return builder.error(blocks.place, fmt::format("no capacity block '{}'", block));
      }
      RUDDER_ASSIGN(const Names members, names_under(*known->second, "nodes", builder));
      RUDDER_TRY(hang(members, id, builder));
    }
  }
  return {};
}

Status read_blocks(const YamlNode& document, TopologyBuilder& builder) {
  const YamlNode* blocks = document.find("blocks");
  if (blocks == nullptr) {
    return {};
  }
  if (blocks->kind != YamlNode::Kind::kList) {
    return builder.error(at(*blocks), "'blocks' is no list");
  }
  for (const YamlNode& block : blocks->items) {
    const YamlNode* name = block.find("switch");
    SwitchId leaf = kNoSwitch;
    if (name != nullptr) {
      RUDDER_ASSIGN(leaf, builder.mention(name->text, at(*name)));
    }
    RUDDER_ASSIGN(const Names nodes, names_under(block, "nodes", builder));
    RUDDER_TRY(hang(nodes, leaf, builder));
  }
  return {};
}

/// Nodes that no switch names are of unknown domain; those of one capacity block share it as their domain.
Status read_rest(const YamlNode& document, const std::vector<Entry>& capacity_blocks,
                 TopologyBuilder& builder) {
  for (const Entry& block : capacity_blocks) {
    RUDDER_ASSIGN(const Names members, names_under(*block.value, "nodes", builder));
    for (const std::string& host : members.names) {
      if (builder.has_host(host)) {
        continue;
      }
      RUDDER_ASSIGN(const SwitchId domain, builder.mention(block.name, at(*block.value)));
      RUDDER_TRY(builder.add_host(host, domain, members.place));
    }
  }
  RUDDER_ASSIGN(const std::vector<Entry> nodes, entries_of(document, "nodes", builder));
  for (const Entry& node : nodes) {
    if (builder.has_host(node.name)) {
      continue;
    }
    const YamlNode* block = node.value->find("capacity_block");
    SwitchId domain = kNoSwitch;
    if (block != nullptr) {
      RUDDER_ASSIGN(domain, builder.mention(block->text, at(*block)));
    }
    RUDDER_TRY(builder.add_host(node.name, domain, at(*node.value)));
  }
  return {};
}

}  // namespace

Status read_topograph_model(std::string_view text, const TopologyFileOptions&, TopologyBuilder& builder) {
  RUDDER_ASSIGN(const std::vector<YamlNode> documents, parse_yaml(builder.where(), text));
  if (documents.size() != 1 || documents[0].kind != YamlNode::Kind::kMap) {
    return builder.error({}, "expected one YAML map with 'switches', 'nodes', 'blocks' or 'capacity_blocks'");
  }
  const YamlNode& document = documents[0];
  RUDDER_ASSIGN(const std::vector<Entry> capacity_blocks, entries_of(document, "capacity_blocks", builder));
  NameMap<const YamlNode*> by_name;
  for (const Entry& block : capacity_blocks) {
    if (!by_name.emplace(block.name, block.value).second) {
      return builder.error(at(*block.value),
                           fmt::format("capacity block '{}' is described twice", block.name));
    }
  }
  RUDDER_TRY(read_switches(document, by_name, builder));
  RUDDER_TRY(read_blocks(document, builder));
  return read_rest(document, capacity_blocks, builder);
}

}  // namespace rudder::place

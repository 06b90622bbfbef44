// SPDX-License-Identifier: Apache-2.0
#include "place/topology_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/ids.h"
#include "rudder/place/hostlist.h"

namespace rudder::place {
namespace {

constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxSwitchName = 1024;  // paths of domains are names too
constexpr std::size_t kMaxPath = 64;

/// The value as an error may show it: printable and short.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string safe(text.substr(0, kShown));
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  return text.size() > kShown ? safe + "..." : safe;
}

std::string first_mention(std::size_t line) {
  return line == 0 ? std::string() : fmt::format(" (first on line {})", line);
}

}  // namespace

bool is_host_name(std::string_view name) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == ':';
  };
  return !name.empty() && name.size() <= kMaxName && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

Error TopologyBuilder::error(const Place& place, std::string_view what) const {
  if (place.line > 0) {
    return {Errc::kInvalidData, fmt::format("{}: line {}: {}", where_, place.line, what)};
  }
  return {Errc::kInvalidData, place.element.empty() ? fmt::format("{}: {}", where_, what)
                                                    : fmt::format("{}: {}: {}", where_, place.element, what)};
}

Status TopologyBuilder::check_name(std::string_view name, std::string_view kind, const Place& place) const {
  if (name.empty()) {
    return error(place, fmt::format("a {} has no name", kind));
  }
  if (kind == "host" ? !is_host_name(name)
                     : name.size() > kMaxSwitchName || std::any_of(name.begin(), name.end(), [](char c) {
                         return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
                       })) {
    return error(place, fmt::format("'{}' cannot be the name of a {}", shown(name), kind));
  }
  return {};
}

Result<SwitchId> TopologyBuilder::mention(std::string_view name, const Place& place) {
  if (const auto known = switch_ids_.find(name); known != switch_ids_.end()) {
    return known->second.id;
  }
  RUDDER_TRY(check_name(name, "switch", place));
  if (switches_.size() >= kMaxHosts) {
    return error(place, fmt::format("more than {} switches", kMaxHosts));
  }
  const auto id = narrow<SwitchId>(switches_.size());
  switches_.push_back({std::string(name), kNoSwitch, 0});
  from_path_.push_back(false);
  switch_ids_.emplace(std::string(name), Known{id, place, false});
  return id;
}

Result<SwitchId> TopologyBuilder::declare(std::string_view name, const Place& place) {
  RUDDER_ASSIGN(const SwitchId id, mention(name, place));
  Known& known = switch_ids_.find(name)->second;
  if (known.declared) {
    return error(place,
                 fmt::format("switch '{}' is described twice{}", name, first_mention(known.place.line)));
  }
  known.declared = true;
  known.place = place;
  return id;
}

Status TopologyBuilder::require_declared() const {
  for (const Switch& s : switches_) {
    const Known& known = switch_ids_.find(s.name)->second;
    if (!known.declared) {
      return error(known.place, fmt::format("switch '{}' is named here and described nowhere", s.name));
    }
  }
  return {};
}

Status TopologyBuilder::set_parent(SwitchId child, SwitchId parent, const Place& place) {
  Switch& s = switches_[static_cast<std::size_t>(child)];
  if (s.parent != kNoSwitch && s.parent != parent) {
    return error(place, fmt::format("switch '{}' hangs on both '{}' and '{}'", s.name,
                                    switches_[static_cast<std::size_t>(s.parent)].name,
                                    switches_[static_cast<std::size_t>(parent)].name));
  }
  if (child == parent) {
    return error(place, fmt::format("switch '{}' hangs on itself", s.name));
  }
  s.parent = parent;
  return {};
}

Status TopologyBuilder::add_host(std::string_view name, SwitchId leaf, const Place& place) {
  RUDDER_TRY(check_name(name, "host", place));
  if (hosts_.size() >= kMaxHosts) {
    return error(place, fmt::format("more than {} hosts", kMaxHosts));
  }
  const auto [known, added] = host_ids_.emplace(std::string(name), place.line);
  if (!added) {
    return error(place, fmt::format("host '{}' is listed twice{}", name, first_mention(known->second)));
  }
  hosts_.push_back({std::string(name), leaf, HostState::kFree});
  return {};
}

Status TopologyBuilder::add_hosts(std::string_view expression, SwitchId leaf, const Place& place) {
  Result<std::vector<std::string>> names = expand_hostlist(expression, kMaxHosts);
  if (!names) {
    return error(place, names.error().message);
  }
  for (const std::string& name : *names) {
    RUDDER_TRY(add_host(name, leaf, place));
  }
  return {};
}

Status TopologyBuilder::add_host_below(std::string_view name, std::span<const std::string> path,
                                       const Place& place) {
  if (path.size() > kMaxPath) {
    return error(place, fmt::format("host '{}' is below {} switches, more than {} allowed", shown(name),
                                    path.size(), kMaxPath));
  }
  SwitchId parent = kNoSwitch;
  std::string key;
  for (const std::string& word : path) {
    RUDDER_TRY(check_name(word, "switch", place));
    if (word.find('/') != std::string::npos) {
      return error(place, fmt::format("'{}' cannot be one domain of a path", shown(word)));
    }
    key += key.empty() ? word : '/' + word;
    RUDDER_ASSIGN(const SwitchId id, mention(key, place));
    from_path_[static_cast<std::size_t>(id)] = true;
    switches_[static_cast<std::size_t>(id)].parent = parent;
    parent = id;
  }
  return add_host(name, parent, place);
}

void TopologyBuilder::shorten_path_names() {
  const auto last_word = [](const std::string& name) { return name.substr(name.rfind('/') + 1); };
  NameMap<int> uses;
  for (const Switch& s : switches_) {
    ++uses[last_word(s.name)];
  }
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    if (std::string word = last_word(switches_[i].name);
        from_path_[i] && uses[word] == 1 && !switch_ids_.contains(word)) {
      switches_[i].name = std::move(word);
    }
  }
}

Status TopologyBuilder::check_acyclic() const {
  const auto cycle = find_cycle(switches_);
  return cycle
             ? error(switch_ids_.find(switches_[static_cast<std::size_t>(cycle->member)].name)->second.place,
                     cycle->text)
             : Status();
}

Status TopologyBuilder::settle_unknown(UnknownDomain unknown, TopologyFile& file) {
  std::vector<Host> kept;
  kept.reserve(hosts_.size());
  for (Host& host : hosts_) {
    if (host.leaf != kNoSwitch) {
      kept.push_back(std::move(host));
      continue;
    }
    if (unknown == UnknownDomain::kError) {
      return error(
          {host_ids_.find(host.name)->second, {}},
          fmt::format("nothing says where host '{}' is in the network (unknown domains can be taken as "
                      "singletons or skipped)",
                      host.name));
    }
    file.unknown_hosts.push_back(host.name);
    if (unknown == UnknownDomain::kSingleton) {
      RUDDER_ASSIGN(host.leaf, mention("unknown:" + host.name, {}));
      kept.push_back(std::move(host));
    }
  }
  hosts_ = std::move(kept);
  return {};
}

Result<TopologyFile> TopologyBuilder::finish(UnknownDomain unknown) && {
  TopologyFile file;
  RUDDER_TRY(check_acyclic());
  if (std::find(from_path_.begin(), from_path_.end(), true) != from_path_.end()) {
    shorten_path_names();
  }
  RUDDER_TRY(settle_unknown(unknown, file));
  Result<Topology> topology = canonical_topology(std::move(switches_), std::move(hosts_));
  if (!topology) {
    return topology.error().in(where_);
  }
  file.topology = std::move(topology).value();
  file.remarks = std::move(remarks_);
  return file;
}

}  // namespace rudder::place

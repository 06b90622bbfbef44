// SPDX-License-Identifier: Apache-2.0
// Small clusters for placement tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "rudder/core/check.h"
#include "rudder/place/topology.h"

namespace rudder::test {

/// One core, minipods "m0", "m1", ..., each with leaves "m0l0", ... of up to `leaf_hosts` hosts "m0h0", ...;
/// `sizes[k]` hosts in minipod k, all free.
inline place::Topology cluster(const std::vector<std::int32_t>& sizes, std::int32_t leaf_hosts = 4) {
  std::vector<place::Switch> switches{{"core", place::kNoSwitch, 0}};
  std::vector<place::Host> hosts;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const std::string name = fmt::format("m{}", k);
    const auto minipod = static_cast<place::SwitchId>(switches.size());
    switches.push_back({name, 0, 1});
    place::SwitchId leaf = place::kNoSwitch;
    for (std::int32_t h = 0; h < sizes[k]; ++h) {
      if (h % leaf_hosts == 0) {
        leaf = static_cast<place::SwitchId>(switches.size());
        switches.push_back({fmt::format("{}l{}", name, h / leaf_hosts), minipod, 2});
      }
      hosts.push_back({fmt::format("{}h{}", name, h), leaf, place::HostState::kFree});
    }
  }
  return place::canonical_topology(std::move(switches), std::move(hosts)).value();
}

inline place::Host& host_named(place::Topology& topology, const std::string& name) {
  for (place::Host& host : topology.hosts) {
    if (host.name == name) {
      return host;
    }
  }
  RUDDER_CHECK(false, "the test's host exists");
}

}  // namespace rudder::test

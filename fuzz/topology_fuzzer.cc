// SPDX-License-Identifier: Apache-2.0
// Clusters as their tools describe them: networks, states of hosts, lists of hosts, plans.
#include <array>

#include "rudder/place/hostlist.h"
#include "rudder/place/topology_files.h"

#include "fuzz_input.h"

namespace rudder::place {
namespace {

constexpr std::array kUnknown = {UnknownDomain::kError, UnknownDomain::kSingleton, UnknownDomain::kSkip};

void topology(fuzz::Input& input) {
  TopologyFileOptions options;
  options.format = static_cast<TopologyFormat>(input.below(topology_format_names().size()));
  options.unknown = kUnknown[input.below(kUnknown.size())];
  const fuzz::MemoryFile file(input.rest());
  auto found = read_topology(file.path(), options);
  if (!found.ok()) {
    return;
  }
  RUDDER_CHECK(found->format != TopologyFormat::kAuto, "the format is known");
  RUDDER_CHECK(apply_states(found->topology, {}, Strangers::kCount).ok(), "no states fit every topology");
}

}  // namespace
}  // namespace rudder::place

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(3)) {
    case 0:
      rudder::place::topology(input);
      break;
    case 1:
      static_cast<void>(rudder::place::parse_states("states", input.text()));
      break;
    default:
      if (const auto hosts = rudder::place::expand_hostlist(input.text(), 1000); hosts.ok()) {
        RUDDER_CHECK(hosts->size() <= 1000, "lists are bounded");
      }
  }
  return 0;
}

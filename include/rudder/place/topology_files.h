// SPDX-License-Identifier: Apache-2.0
// Topologies from the files that cluster tools write, and the state of hosts from Slurm or a list.
//
// Every reader bounds what it takes: files of at most 1 GiB (YAML: 64 MiB), 2^22 hosts and as many switches,
// nesting 64 deep, no YAML anchors. An error (kInvalidData unless said otherwise) names the file, the line
// where the format has lines (else the element, as in "instances[3]") and the value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/topology.h"

namespace rudder::place {

enum class TopologyFormat : std::uint8_t {
  kAuto,            ///< told apart by content
  kSlurmConf,       ///< topology.conf: topology/tree and topology/block
  kSlurmYaml,       ///< topology.yaml: tree and block
  kTopographGraph,  ///< topograph's graph engine: {"instances":[{"id","network_layers":[leaf, ...]}]}
  kTopographModel,  ///< topograph's model YAML: switches (map or list), blocks, capacity_blocks, nodes
  kKubernetes,      ///< `kubectl get nodes -o json`
  kIbnetdiscover,   ///< output of ibnetdiscover
  kHostList,        ///< lines "HOSTS [SWITCH/SWITCH]", switches outermost first
};

/// "auto", "slurm-conf", "slurm-yaml", "topograph-graph", "topograph-model", "kubernetes", "ibnetdiscover",
/// "hosts", in the enum's order.
[[nodiscard]] const std::vector<std::string>& topology_format_names();
[[nodiscard]] std::string_view name_of(TopologyFormat format);
/// The format with that name; a name that is none is kInvalidArgument.
[[nodiscard]] Result<TopologyFormat> topology_format_from_name(std::string_view name);

/// What to do with hosts whose place in the network the file does not tell.
enum class UnknownDomain : std::uint8_t {
  kError,
  kSingleton,  ///< each is a minipod of its own: never worse than the truth
  kSkip,       ///< they are left out
};

struct TopologyFileOptions {
  TopologyFormat format = TopologyFormat::kAuto;
  UnknownDomain unknown = UnknownDomain::kError;
  /// kKubernetes: label keys, outermost domain first. Empty: the first set that a node has of topograph's
  /// `fabric.topograph.run/tier-N` (highest N outermost), its older
  /// `network.topology.nvidia.com/{core,spine,leaf}`, and `topology.kubernetes.io/{zone,rack}`.
  std::vector<std::string> label_keys;
  /// kSlurmYaml: which topology of the file; empty: the one marked cluster_default, else the first.
  std::string topology_name;
};

struct TopologyFile {
  Topology topology;
  TopologyFormat format = TopologyFormat::kAuto;  ///< as read
  std::vector<std::string> unknown_hosts;         ///< made singletons or skipped
  std::vector<std::string> remarks;               ///< what a person should know, a line each
};

/// Reads and checks a file. Linear in its size apart from sorting names.
[[nodiscard]] Result<TopologyFile> read_topology(const std::filesystem::path& path,
                                                 const TopologyFileOptions& options = {});

struct NamedState {
  std::string host;
  HostState state = HostState::kFree;
  std::string place = {};  ///< where it is named first, for errors: "line 3", "nodes[2]"; may be empty
};

/// States of hosts, one entry a host (the worst of several), from
/// - `sinfo --json` of Slurm 22.05 ("nodes" with "state": "idle" and "state_flags"), `sinfo --json` of newer
/// ones
///   ("sinfo" with "node": {"state": ["IDLE"]} and "nodes": {"nodes": [...]}), `scontrol show node --json`
///   of 23.02 and newer ("nodes" with "state": ["IDLE", "DRAIN"]);
/// - `scontrol show node` as text, with or without -o;
/// - a list of lines "HOSTS [STATE]" with `sinfo -h -N -o '%N %T'` spellings; without a state: free.
/// Free is idle alone. Allocated, mixed, completing, planned, reserved and the like are busy; down, drained,
/// draining, failing, not responding, powered down, in maintenance and the like are down.
[[nodiscard]] Result<std::vector<NamedState>> read_states(const std::filesystem::path& path);
/// The same from text, for example of a child process; `where` stands in errors for the file.
[[nodiscard]] Result<std::vector<NamedState>> parse_states(const std::string& where, std::string_view text);

struct StateReport {
  std::int64_t free = 0;
  std::int64_t busy = 0;
  std::int64_t down = 0;                  ///< including those that the file does not name
  std::vector<std::string> not_in_state;  ///< hosts of the topology without a state: taken as down
  std::vector<std::string> strangers;     ///< hosts of the file that the topology lacks
};

enum class Strangers : std::uint8_t { kError, kCount };

/// Writes the states into the topology. Hosts that the topology lacks are an error or are counted.
[[nodiscard]] Result<StateReport> apply_states(Topology& topology, const std::vector<NamedState>& states,
                                               Strangers strangers = Strangers::kError);

}  // namespace rudder::place

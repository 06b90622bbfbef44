// SPDX-License-Identifier: Apache-2.0
// A plan in the forms that launchers and cluster managers take, ranks in the plan's order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/plan.h"

namespace rudder::place {

struct HandOverOptions {
  std::string command = "./train.sh";  ///< what a task runs; put into shell scripts as it is
  std::uint16_t port = 29500;          ///< of the rendezvous on rank 0's host
  std::int32_t cores_per_gpu = 1;      ///< Open MPI rankfiles bind each rank to that many cores
  std::string image = "registry.example/train:latest";        ///< of Kubernetes pods
  std::string gpu_resource = "nvidia.com/gpu";                ///< what Kubernetes pods ask for, g of it
  std::string minipod_label = "fabric.topograph.run/tier-1";  ///< node label that names the minipod
  std::string queue = "default";                              ///< of Kueue, Volcano and KAI
};

struct HandOverFile {
  std::string name;  ///< in the folder, for example "slurm-hosts.txt"
  std::string text;
};

struct HandOver {
  std::vector<HandOverFile> files;
  std::vector<std::string> left_out;  ///< formats that cannot express the plan, and why
};

/// All formats of a valid plan: placement.json; Slurm host file and batch script; Open MPI host file,
/// rankfile and commands of 4.x and 5.x; torchrun commands of each node; Kubernetes manifests (gated pods,
/// JobSet, Kueue, Volcano, KAI). Errors: kInvalidArgument when an option holds a line break or quotes.
[[nodiscard]] Result<HandOver> hand_over(const Plan& plan, const HandOverOptions& options = {});

// One format each; for a valid plan. Those marked (c) need ranks_are_consecutive(plan).

/// One host for each task, in rank order: a host is repeated g times, wherever its ranks are.
[[nodiscard]] std::string slurm_host_file(const Plan& plan);
/// Allocates the nodes by name and starts the step in the order of slurm-hosts.txt. Node rank and master come
/// from the plan, because SLURM_NODEID and SLURM_JOB_NODELIST stay in the node table's order.
[[nodiscard]] std::string slurm_script(const Plan& plan, const HandOverOptions& options);
/// "HOST slots=g", in the order in which ranks first meet the hosts.
[[nodiscard]] std::string openmpi_host_file(const Plan& plan);
/// "rank N=HOST slot=CORES" for every rank.
[[nodiscard]] std::string openmpi_rankfile(const Plan& plan, std::int32_t cores_per_gpu);
/// mpirun of 4.x and, when that is what is installed, of 5.x, which spells rankfiles differently.
[[nodiscard]] std::string openmpi_script(const Plan& plan, const HandOverOptions& options);
/// (c) "HOST<tab>torchrun ..." a node: static rendezvous, the only one that keeps the order.
[[nodiscard]] std::string torchrun_commands(const Plan& plan, const HandOverOptions& options);
/// (c) A pod a node with its host's selector and a scheduling gate, a headless service for rank 0, and
/// nothing that starts before `kubectl` removes the gates of all (the command is in the file's comment).
[[nodiscard]] std::string kubernetes_pods(const Plan& plan, const HandOverOptions& options);
/// (c) A JobSet with a replicated job for each run of nodes of one minipod, pinned to it by label: keeps S
/// and Q and leaves the choice of hosts inside minipods to the scheduler.
[[nodiscard]] std::string kubernetes_jobset(const Plan& plan, const HandOverOptions& options);
/// (c) An indexed Job whose slices of segment_size(plan) pods share a minipod.
[[nodiscard]] std::string kubernetes_kueue(const Plan& plan, const HandOverOptions& options);
[[nodiscard]] std::string kubernetes_volcano(const Plan& plan, const HandOverOptions& options);
[[nodiscard]] std::string kubernetes_kai(const Plan& plan, const HandOverOptions& options);

/// Volcano's HyperNodes of a cluster: minipods as tier 1, which the job above names, and all of them as
/// tier 2.
[[nodiscard]] std::string volcano_hyper_nodes(const Topology& topology, std::int32_t level);

}  // namespace rudder::place

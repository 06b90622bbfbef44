// SPDX-License-Identifier: Apache-2.0
// Slurm, Open MPI and torchrun.
#include <algorithm>

#include <fmt/format.h>

#include "rudder/place/hand_over.h"
#include "rudder/place/hostlist.h"

namespace rudder::place {
namespace {

std::size_t ranks_of(const Plan& plan) {
  return plan.nodes.size() * static_cast<std::size_t>(plan.shape.gpus_per_node);
}

std::string describe(const Plan& plan) {
  return fmt::format("{}: {} nodes x {} GPUs, TP {}, PP {}, DP {}{}, {} ranks; S {}, Q {}", plan.job,
                     plan.nodes.size(), plan.shape.gpus_per_node, plan.shape.tp, plan.shape.pp, plan.shape.dp,
                     plan.shape.cp > 1 ? fmt::format(", CP {}", plan.shape.cp) : "", name_of(plan.order),
                     plan.spread.S, plan.spread.Q);
}

/// The job's name reduced to what shells and file names take as it is.
std::string safe_name(const std::string& name) {
  std::string safe = name;
  std::replace_if(
      safe.begin(), safe.end(),
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                 c == '_');
      },
      '-');
  return safe.empty() ? "job" : safe;
}

/// One word of a shell.
std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

/// A comment line of shells and YAML; job names may hold line breaks.
std::string comment(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return "# " + text + "\n";
}

}  // namespace

std::string slurm_host_file(const Plan& plan) {
  std::string text;
  for (const std::int32_t node : node_of_rank(plan)) {
    text += plan.nodes[static_cast<std::size_t>(node)].host + "\n";
  }
  return text;
}

std::string slurm_script(const Plan& plan, const HandOverOptions& options) {
  std::vector<std::string> hosts;
  for (const PlannedNode& node : plan.nodes) {
    hosts.push_back(node.host);
  }
  std::sort(hosts.begin(), hosts.end(), natural_less);
  return fmt::format(
      "#!/bin/bash\n{}"
      "#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --exclusive\n#SBATCH --nodelist={}\n\n"
      "# slurm-hosts.txt lies beside this script: submit from its folder. It has one host a task in rank "
      "order;\n"
      "# the allocation above does not, and neither have SLURM_NODEID and SLURM_JOB_NODELIST: do not use "
      "them.\n"
      "export SLURM_HOSTFILE=\"$SLURM_SUBMIT_DIR/slurm-hosts.txt\"\n"
      "export MASTER_ADDR={} MASTER_PORT={} WORLD_SIZE={}\n"
      "srun --ntasks={} --distribution=arbitrary bash -c {}\n",
      comment(describe(plan)), safe_name(plan.job), plan.nodes.size(), compress_hostlist(hosts),
      plan.nodes.front().host, options.port, ranks_of(plan), ranks_of(plan),
      shell_quoted("export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID; exec " + options.command));
}

std::string openmpi_host_file(const Plan& plan) {
  std::string text;
  for (const PlannedNode& node : plan.nodes) {
    text += fmt::format("{} slots={}\n", node.host, plan.shape.gpus_per_node);
  }
  return text;
}

std::string openmpi_rankfile(const Plan& plan, std::int32_t cores_per_gpu) {
  std::vector<std::int32_t> used(plan.nodes.size());  // local ranks count up in rank order
  std::string text;
  std::size_t rank = 0;
  for (const std::int32_t node : node_of_rank(plan)) {
    const std::int32_t first = used[static_cast<std::size_t>(node)]++ * cores_per_gpu;
    text += fmt::format("rank {}={} slot={}", rank++, plan.nodes[static_cast<std::size_t>(node)].host, first);
    text += cores_per_gpu == 1 ? "\n" : fmt::format("-{}\n", first + cores_per_gpu - 1);
  }
  return text;
}

std::string openmpi_script(const Plan& plan, const HandOverOptions& options) {
  return fmt::format(
      "#!/bin/sh\n{}"
      "cd \"$(dirname \"$0\")\" || exit 1\n"
      "# Open MPI 5 has another spelling of rankfiles than 4.\n"
      "case $(mpirun --version 2>/dev/null | head -n 1) in\n"
      "  *' 4.'*) exec mpirun -np {} --hostfile openmpi-hosts.txt --rankfile openmpi-ranks.txt \\\n"
      "    -x MASTER_ADDR={} -x MASTER_PORT={} {} ;;\n"
      "  *) exec mpirun -np {} --hostfile openmpi-hosts.txt --map-by rankfile:file=openmpi-ranks.txt \\\n"
      "    -x MASTER_ADDR={} -x MASTER_PORT={} {} ;;\n"
      "esac\n",
      comment(describe(plan)), ranks_of(plan), plan.nodes.front().host, options.port, options.command,
      ranks_of(plan), plan.nodes.front().host, options.port, options.command);
}

std::string torchrun_commands(const Plan& plan, const HandOverOptions& options) {
  std::string text;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    text += fmt::format(
        "{}\ttorchrun --nnodes={} --nproc-per-node={} --node-rank={} --rdzv-backend=static --master-addr={} "
        "--master-port={} {}\n",
        plan.nodes[n].host, plan.nodes.size(), plan.shape.gpus_per_node, n, plan.nodes.front().host,
        options.port, options.command);
  }
  return text;
}

}  // namespace rudder::place

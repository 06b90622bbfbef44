// SPDX-License-Identifier: Apache-2.0
// Kubernetes manifests. Field names as in the published schemas: core/v1 Pod and Service, batch/v1 Job,
// jobset.x-k8s.io/v1alpha2 JobSet, batch.volcano.sh/v1alpha1 Job; annotations of Kueue and KAI on batch/v1
// Jobs.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/place/hand_over.h"

namespace rudder::place {
namespace {

/// A YAML text: JSON's quoting is a subset of YAML's, and "1101" must not become a number.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// A DNS label of the job's name, short enough for the suffixes that controllers add.
std::string dns_name(const std::string& name) {
  constexpr std::size_t kLongest = 30;
  std::string label;
  for (const char c : name.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    label += std::isalnum(byte) != 0 && byte < 0x80 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  const auto trimmed = label.find_first_not_of('-');
  label =
      trimmed == std::string::npos ? "job" : label.substr(trimmed, label.find_last_not_of('-') - trimmed + 1);
  return std::isdigit(static_cast<unsigned char>(label.front())) != 0 ? "j" + label : label;
}

std::string indent(const std::string& text, std::size_t by) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    result += std::string(by, ' ') + text.substr(at, end - at + 1);
    at = end + 1;
  }
  return result;
}

std::string header(const Plan& plan, std::string_view what) {
  return fmt::format("# {} for {} nodes of {} GPUs in {} rank order: S {}, Q {}.\n", what, plan.nodes.size(),
                     plan.shape.gpus_per_node, name_of(plan.order), plan.spread.S, plan.spread.Q);
}

/// A headless service, so that pods find rank 0 by name before it is ready.
std::string service(const std::string& name) {
  return fmt::format(
      "apiVersion: v1\nkind: Service\nmetadata:\n  name: {0}\nspec:\n  clusterIP: None\n"
      "  publishNotReadyAddresses: true\n  selector:\n    job: {0}\n---\n",
      name);
}

struct ContainerSpec {
  std::string node_rank;  ///< a shell expression
  std::string master;     ///< DNS name of rank 0's pod
  std::string env;        ///< YAML list entries, or empty
};

/// A pod's `containers`, one container that runs torchrun as this node.
std::string containers(const Plan& plan, const HandOverOptions& options, const ContainerSpec& spec) {
  const std::string command = fmt::format(
      "exec torchrun --nnodes={} --nproc-per-node={} --node-rank={} --rdzv-backend=static --master-addr={} "
      "--master-port={} {}",
      plan.nodes.size(), plan.shape.gpus_per_node, spec.node_rank, spec.master, options.port,
      options.command);
  return fmt::format(
      "containers:\n- name: train\n  image: {}\n  command: [\"sh\", \"-c\", {}]\n{}  resources:\n    "
      "limits:\n"
      "      {}: {}\n",
      quoted(options.image), quoted(command), spec.env.empty() ? "" : "  env:\n" + indent(spec.env, 2),
      quoted(options.gpu_resource), plan.shape.gpus_per_node);
}

/// The template of an indexed batch/v1 Job's pods, which know their node rank as their completion index.
std::string indexed_job_spec(const Plan& plan, const HandOverOptions& options, const std::string& annotations,
                             std::string_view scheduler) {
  const std::string name = dns_name(plan.job);
  const std::string pods =
      containers(plan, options, {"$JOB_COMPLETION_INDEX", fmt::format("{0}-0.{0}", name), {}});
  return fmt::format(
      "spec:\n  completionMode: Indexed\n  completions: {0}\n  parallelism: {0}\n  backoffLimit: 0\n"
      "  template:\n    metadata:\n      labels:\n        job: {1}\n{2}    spec:\n      subdomain: {1}\n"
      "      restartPolicy: Never\n{3}{4}",
      plan.nodes.size(), name, annotations.empty() ? "" : "      annotations:\n" + indent(annotations, 8),
      scheduler.empty() ? "" : fmt::format("      schedulerName: {}\n", scheduler), indent(pods, 6));
}

}  // namespace

std::string kubernetes_pods(const Plan& plan, const HandOverOptions& options) {
  const std::string name = dns_name(plan.job);
  std::string text = header(plan, "Pods pinned to their hosts") +
                     fmt::format(
                         "# All are gated: when every pod exists, start them together with\n"
                         "#   kubectl get pods -l job={} -o name | xargs -I POD kubectl patch POD "
                         "--type=json -p '[{{\"op\":\"remove\",\"path\":\"/spec/schedulingGates\"}}]'\n",
                         name) +
                     service(name);
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    text += fmt::format(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {0}-{1}\n  labels:\n    job: {0}\nspec:\n"
        "  schedulingGates:\n  - name: rudder/placed\n  nodeSelector:\n    kubernetes.io/hostname: {2}\n"
        "  hostname: {0}-{1}\n  subdomain: {0}\n  restartPolicy: Never\n{3}",
        name, n, quoted(plan.nodes[n].host),
        indent(containers(plan, options, {std::to_string(n), fmt::format("{0}-0.{0}", name), {}}), 2));
    text += n + 1 < plan.nodes.size() ? "---\n" : "";
  }
  return text;
}

std::string kubernetes_jobset(const Plan& plan, const HandOverOptions& options) {
  const std::string name = dns_name(plan.job);
  std::string text = header(plan, "JobSet") +
                     fmt::format(
                         "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n  name: {}\nspec:\n"
                         "  network:\n    enableDNSHostnames: true\n  replicatedJobs:\n",
                         name);
  std::size_t run = 0;
  for (std::size_t first = 0; first < plan.nodes.size(); ++run) {
    std::size_t last = first;
    while (last + 1 < plan.nodes.size() && plan.nodes[last + 1].minipod == plan.nodes[first].minipod) {
      ++last;
    }
    const ContainerSpec spec{"$((FIRST_NODE_RANK + JOB_COMPLETION_INDEX))",
                             fmt::format("{0}-run0-0-0.{0}", name),
                             fmt::format("- name: FIRST_NODE_RANK\n  value: \"{}\"\n", first)};
    text += fmt::format(
        "  - name: run{0}\n    replicas: 1\n    template:\n      spec:\n        completionMode: Indexed\n"
        "        completions: {1}\n        parallelism: {1}\n        backoffLimit: 0\n        template:\n"
        "          spec:\n            nodeSelector:\n              {2}: {3}\n"
        "            restartPolicy: Never\n{4}",
        run, last - first + 1, quoted(options.minipod_label), quoted(plan.nodes[first].minipod),
        indent(containers(plan, options, spec), 12));
    first = last + 1;
  }
  return text;
}

std::string kubernetes_kueue(const Plan& plan, const HandOverOptions& options) {
  const std::string name = dns_name(plan.job);
  const std::string annotations = fmt::format(
      "kueue.x-k8s.io/podset-unconstrained-topology: \"true\"\n"
      "kueue.x-k8s.io/podset-slice-required-topology: {}\nkueue.x-k8s.io/podset-slice-size: \"{}\"\n",
      quoted(options.minipod_label), segment_size(plan));
  return header(plan, "Kueue job") +
         fmt::format("# Kueue picks the hosts: slices of {} pods share a minipod, and no more is promised.\n",
                     segment_size(plan)) +
         service(name) +
         fmt::format(
             "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {}\n  labels:\n"
             "    kueue.x-k8s.io/queue-name: {}\n",
             name, quoted(options.queue)) +
         indexed_job_spec(plan, options, annotations, {});
}

std::string kubernetes_kai(const Plan& plan, const HandOverOptions& options) {
  const std::string name = dns_name(plan.job);
  return header(plan, "KAI job") +
         fmt::format("# KAI picks the hosts: segments of {} pods share a minipod, and no more is promised.\n",
                     segment_size(plan)) +
         service(name) +
         fmt::format(
             "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {}\n  labels:\n"
             "    kai.scheduler/queue: {}\n  annotations:\n    kai.scheduler/topology: rudder\n"
             "    kai.scheduler/segment-size: \"{}\"\n"
             "    kai.scheduler/segment-topology-required-placement: {}\n",
             name, quoted(options.queue), segment_size(plan), quoted(options.minipod_label)) +
         indexed_job_spec(plan, options, {}, "kai-scheduler");
}

std::string kubernetes_volcano(const Plan& plan, const HandOverOptions& options) {
  const std::string name = dns_name(plan.job);
  const auto size = static_cast<std::size_t>(segment_size(plan));
  const std::string pods =
      containers(plan, options, {"$VC_TASK_INDEX", fmt::format("{0}-node-0.{0}", name), {}});
  return header(plan, "Volcano job") +
         fmt::format(
             "# Volcano picks the hosts: partitions of {} pods share a tier-1 HyperNode (a minipod).\n",
             size) +
         fmt::format(
             "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata:\n  name: {0}\nspec:\n"
             "  schedulerName: volcano\n  queue: {1}\n  minAvailable: {2}\n  plugins:\n    env: []\n    svc: "
             "[]\n"
             "  networkTopology:\n    mode: soft\n  tasks:\n  - name: node\n    replicas: {2}\n"
             "    partitionPolicy:\n      totalPartitions: {3}\n      partitionSize: {4}\n"
             "      networkTopology:\n        mode: hard\n        highestTierAllowed: 1\n"
             "    template:\n      spec:\n        restartPolicy: Never\n{5}",
             name, quoted(options.queue), plan.nodes.size(), plan.nodes.size() / size, size, indent(pods, 8));
}

std::string volcano_hyper_nodes(const Topology& topology, std::int32_t level) {
  constexpr std::string_view kHead =
      "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata:\n  name: ";
  std::string text;
  std::string all = fmt::format("{}cluster\nspec:\n  tier: 2\n  members:\n", kHead);
  const std::vector<Minipod> pods = minipods(topology, level);
  for (std::size_t k = 0; k < pods.size(); ++k) {
    const std::string name =
        fmt::format("{}-{}", dns_name(pods[k].name), k);  // labels may collide, positions not
    text +=
        fmt::format("# minipod {}\n{}{}\nspec:\n  tier: 1\n  members:\n", quoted(pods[k].name), kHead, name);
    for (const HostId host : pods[k].hosts) {
      text += fmt::format("  - type: Node\n    selector:\n      exactMatch:\n        name: {}\n",
                          quoted(topology.hosts[static_cast<std::size_t>(host)].name));
    }
    text += "---\n";
    all += fmt::format("  - type: HyperNode\n    selector:\n      exactMatch:\n        name: {}\n", name);
  }
  return text + all;
}

}  // namespace rudder::place

// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/hand_over.h"

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/plan_helpers.h"
#include "place/yaml_document.h"

namespace rudder::place {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::map<std::string, std::string> files_of(const Plan& plan, const HandOverOptions& options = {}) {
  std::map<std::string, std::string> files;
  const Result<HandOver> made = hand_over(plan, options);
  EXPECT_TRUE(made.ok());
  for (const HandOverFile& file : made->files) {
    files[file.name] = file.text;
  }
  return files;
}

/// TP 2 on nodes of 4: in row-major order a node's ranks are not consecutive.
Plan split_plan() {
  Plan plan = plan_of({.gpus_per_node = 4, .tp = 2, .pp = 4, .dp = 8}, RankOrder::kRowMajor,
                      {"h00", "h04", "h01", "h05", "h08", "h12", "h09", "h13",  //
                       "h02", "h06", "h03", "h07", "h10", "h14", "h11", "h15"});
  EXPECT_TRUE(locate(plan, interleaved_topology(), 1).ok());
  return plan;
}

TEST(HandOver, HostFileAndRankfileGiveTheGridBack) {
  for (const Plan& plan :
       {block_plan(RankOrder::kColumnMajor), block_plan(RankOrder::kRowMajor), split_plan()}) {
    const auto files = files_of(plan, {.command = "x", .cores_per_gpu = 4});
    for (const auto& hosts : {parse_host_file("h", files.at("slurm-hosts.txt")),
                              parse_rankfile("r", files.at("openmpi-ranks.txt"))}) {
      ASSERT_TRUE(hosts.ok());
      EXPECT_THAT(*hosts, SizeIs(16U * static_cast<std::size_t>(plan.shape.gpus_per_node)));
      const Result<Plan> back = plan_from_hosts(plan.shape, plan.order, *hosts);
      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(hosts_by_cell(*back), hosts_by_cell(plan));
    }
    const Result<Plan> back = parse_plan("p", files.at("placement.json"));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(hosts_by_cell(*back), hosts_by_cell(plan));
  }
}

TEST(HandOver, RankfileSlotsAreDisjointAndHostfileHasThem) {
  const auto files = files_of(split_plan(), {.cores_per_gpu = 2});
  std::istringstream lines(files.at("openmpi-ranks.txt"));
  std::map<std::string, std::set<std::string>> slots;
  for (std::string rank, assignment, slot; lines >> rank >> assignment >> slot;) {
    slots[assignment.substr(assignment.find('=') + 1)].insert(slot);
  }
  for (const auto& [host, used] : slots) {
    EXPECT_EQ(used, (std::set<std::string>{"slot=0-1", "slot=2-3", "slot=4-5", "slot=6-7"})) << host;
    EXPECT_THAT(files.at("openmpi-hosts.txt"), HasSubstr(host + " slots=4\n"));
  }
}

TEST(HandOver, SlurmScriptAllocatesByNameAndOrdersByTheHostFile) {
  const std::string script = files_of(block_plan(), {.command = "echo 'hi'"}).at("slurm.sbatch");
  EXPECT_THAT(script, HasSubstr("#SBATCH --nodelist=h[00-15]\n"));
  EXPECT_THAT(script, HasSubstr("SLURM_HOSTFILE=\"$SLURM_SUBMIT_DIR/slurm-hosts.txt\""));
  EXPECT_THAT(script, HasSubstr("MASTER_ADDR=h00 MASTER_PORT=29500 WORLD_SIZE=128\n"));
  EXPECT_THAT(script,
              HasSubstr("srun --ntasks=128 --distribution=arbitrary bash -c 'export RANK=$SLURM_PROCID"));
  EXPECT_THAT(script, HasSubstr("exec echo '\\''hi'\\'''\n"));
  EXPECT_THAT(script, Not(HasSubstr("srun -N")));
}

TEST(HandOver, ShellScriptsParse) {
  Result<TemporaryDirectory> folder = TemporaryDirectory::create("rudder-hand-over");
  ASSERT_TRUE(folder.ok());
  Plan plan = block_plan();
  plan.job = "evil\n$(touch x)'\"";
  for (const auto& [name, text] : files_of(plan, {.command = "python3 -c 'print(1)'"})) {
    if (name == "slurm.sbatch" || name == "openmpi.sh") {
      ASSERT_TRUE(write_text(folder->path() / name, text).ok());
      EXPECT_EQ(std::system(("bash -n " + (folder->path() / name).string()).c_str()), 0) << text;
      EXPECT_THAT(text, Not(HasSubstr("\n$(touch"))) << text;
    }
  }
}

TEST(HandOver, OpenMpiScriptKnowsBothSpellings) {
  const std::string script = files_of(block_plan()).at("openmpi.sh");
  EXPECT_THAT(script, HasSubstr("--rankfile openmpi-ranks.txt"));
  EXPECT_THAT(script, HasSubstr("--map-by rankfile:file=openmpi-ranks.txt"));
}

TEST(HandOver, TorchrunHasAStaticCommandANode) {
  for (const RankOrder order : {RankOrder::kColumnMajor, RankOrder::kRowMajor}) {
    const Plan plan = block_plan(order);
    std::istringstream lines(files_of(plan).at("torchrun.txt"));
    std::vector<std::string> hosts;
    for (std::string line; std::getline(lines, line);) {
      hosts.push_back(line.substr(0, line.find('\t')));
      EXPECT_THAT(line, HasSubstr(fmt::format("--node-rank={} ", hosts.size() - 1)));
      EXPECT_THAT(line, HasSubstr("--rdzv-backend=static --master-addr=h00 --master-port=29500"));
    }
    const Result<Plan> back = plan_from_hosts(plan.shape, plan.order, hosts);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(hosts_by_cell(*back), hosts_by_cell(plan));
  }
}

TEST(HandOver, FormatsThatNumberNodesAreLeftOutWhereTheyWouldLie) {
  const Result<HandOver> made = hand_over(split_plan());
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->left_out, SizeIs(6));
  EXPECT_THAT(made->files, SizeIs(6));
  EXPECT_THAT(made->left_out[0], HasSubstr("torchrun.txt: it numbers nodes"));
}

TEST(HandOver, RefusesOptionsThatBreakOutOfTheirPlace) {
  EXPECT_FALSE(hand_over(block_plan(), {.command = "a\nb"}).ok());
  EXPECT_FALSE(hand_over(block_plan(), {.image = "x\"y"}).ok());
  EXPECT_FALSE(hand_over(block_plan(), {.queue = ""}).ok());
}

/// The value at a path of keys and list positions, or null.
const YamlNode* look(const YamlNode& node, const std::vector<std::string>& path) {
  const YamlNode* at = &node;
  for (const std::string& step : path) {
    if (at->kind == YamlNode::Kind::kList) {
      const std::size_t index = std::stoul(step);
      at = index < at->items.size() ? &at->items[index] : nullptr;
    } else {
      at = at->find(step);
    }
    if (at == nullptr) {
      return nullptr;
    }
  }
  return at;
}

struct Required {
  std::vector<std::string> path;
  std::string value;  ///< "" accepts any
};

/// Keys that the published schemas require or that carry the placement, by kind.
const std::vector<Required> kPod = {
    {{"apiVersion"}, "v1"},
    {{"kind"}, "Pod"},
    {{"metadata", "name"}, ""},
    {{"spec", "schedulingGates", "0", "name"}, ""},
    {{"spec", "nodeSelector", "kubernetes.io/hostname"}, ""},
    {{"spec", "subdomain"}, "llm"},
    {{"spec", "restartPolicy"}, "Never"},
    {{"spec", "containers", "0", "name"}, "train"},
    {{"spec", "containers", "0", "image"}, ""},
    {{"spec", "containers", "0", "command", "2"}, ""},
    {{"spec", "containers", "0", "resources", "limits", "nvidia.com/gpu"}, "8"}};
const std::vector<Required> kService = {{{"apiVersion"}, "v1"},
                                        {{"kind"}, "Service"},
                                        {{"metadata", "name"}, "llm"},
                                        {{"spec", "clusterIP"}, "None"},
                                        {{"spec", "selector", "job"}, "llm"}};
const std::vector<Required> kJob = {{{"apiVersion"}, "batch/v1"},
                                    {{"kind"}, "Job"},
                                    {{"metadata", "name"}, "llm"},
                                    {{"spec", "completionMode"}, "Indexed"},
                                    {{"spec", "completions"}, "16"},
                                    {{"spec", "parallelism"}, "16"},
                                    {{"spec", "template", "metadata", "labels", "job"}, "llm"},
                                    {{"spec", "template", "spec", "subdomain"}, "llm"},
                                    {{"spec", "template", "spec", "restartPolicy"}, "Never"},
                                    {{"spec", "template", "spec", "containers", "0", "image"}, ""}};
const std::vector<Required> kKueue = {
    {{"metadata", "labels", "kueue.x-k8s.io/queue-name"}, "default"},
    {{"spec", "template", "metadata", "annotations", "kueue.x-k8s.io/podset-slice-required-topology"},
     "fabric.topograph.run/tier-1"},
    {{"spec", "template", "metadata", "annotations", "kueue.x-k8s.io/podset-slice-size"}, "2"}};
const std::vector<Required> kKai = {
    {{"metadata", "labels", "kai.scheduler/queue"}, "default"},
    {{"metadata", "annotations", "kai.scheduler/segment-size"}, "2"},
    {{"metadata", "annotations", "kai.scheduler/segment-topology-required-placement"},
     "fabric.topograph.run/tier-1"},
    {{"spec", "template", "spec", "schedulerName"}, "kai-scheduler"}};
const std::vector<Required> kVolcano = {
    {{"apiVersion"}, "batch.volcano.sh/v1alpha1"},
    {{"kind"}, "Job"},
    {{"metadata", "name"}, "llm"},
    {{"spec", "schedulerName"}, "volcano"},
    {{"spec", "minAvailable"}, "16"},
    {{"spec", "networkTopology", "mode"}, "soft"},
    {{"spec", "tasks", "0", "replicas"}, "16"},
    {{"spec", "tasks", "0", "partitionPolicy", "totalPartitions"}, "8"},
    {{"spec", "tasks", "0", "partitionPolicy", "partitionSize"}, "2"},
    {{"spec", "tasks", "0", "partitionPolicy", "networkTopology", "mode"}, "hard"},
    {{"spec", "tasks", "0", "partitionPolicy", "networkTopology", "highestTierAllowed"}, "1"},
    {{"spec", "tasks", "0", "template", "spec", "containers", "0", "image"}, ""}};
const std::vector<Required> kJobSet = {
    {{"apiVersion"}, "jobset.x-k8s.io/v1alpha2"},
    {{"kind"}, "JobSet"},
    {{"metadata", "name"}, "llm"},
    {{"spec", "network", "enableDNSHostnames"}, "true"},
    {{"spec", "replicatedJobs", "0", "name"}, "run0"},
    {{"spec", "replicatedJobs", "0", "replicas"}, "1"},
    {{"spec", "replicatedJobs", "0", "template", "spec", "completions"}, "2"},
    {{"spec", "replicatedJobs", "0", "template", "spec", "template", "spec", "nodeSelector",
      "fabric.topograph.run/tier-1"},
     "A"}};

void expect_keys(const YamlNode& document, const std::vector<Required>& required) {
  for (const auto& [path, value] : required) {
    const YamlNode* at = look(document, path);
    const std::string shown = testing::PrintToString(path);
    ASSERT_NE(at, nullptr) << shown;
    EXPECT_EQ(at->kind, YamlNode::Kind::kScalar) << shown;
    EXPECT_TRUE(value.empty() ? !at->text.empty() : at->text == value) << shown << " is " << at->text;
  }
}

std::vector<YamlNode> documents_of(const Plan& plan, const std::string& file) {
  const Result<std::vector<YamlNode>> documents = parse_yaml(file, files_of(plan).at(file));
  EXPECT_TRUE(documents.ok()) << (documents.ok() ? "" : documents.error().message);
  return documents.ok() ? *documents : std::vector<YamlNode>();
}

TEST(Kubernetes, GatedPodsArePinnedInRankOrder) {
  const Plan plan = block_plan();
  const std::vector<YamlNode> documents = documents_of(plan, "kubernetes-pods.yaml");
  ASSERT_EQ(documents.size(), 17U);
  expect_keys(documents[0], kService);
  std::vector<std::string> hosts;
  for (std::size_t n = 1; n < documents.size(); ++n) {
    expect_keys(documents[n], kPod);
    hosts.push_back(look(documents[n], {"spec", "nodeSelector", "kubernetes.io/hostname"})->text);
    EXPECT_THAT(
        look(documents[n], {"spec", "containers", "0", "command", "2"})->text,
        HasSubstr(fmt::format("--node-rank={} --rdzv-backend=static --master-addr=llm-0.llm", n - 1)));
  }
  const Result<Plan> back = plan_from_hosts(plan.shape, plan.order, hosts);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(hosts_by_cell(*back), hosts_by_cell(plan));
}

TEST(Kubernetes, JobSetGivesEachRankItsMinipod) {
  const Plan plan = block_plan();
  const std::vector<YamlNode> documents = documents_of(plan, "kubernetes-jobset.yaml");
  ASSERT_EQ(documents.size(), 1U);
  expect_keys(documents[0], kJobSet);
  std::size_t node = 0;
  for (const YamlNode& job : look(documents[0], {"spec", "replicatedJobs"})->items) {
    const std::string& pod =
        look(job, {"template", "spec", "template", "spec", "nodeSelector", "fabric.topograph.run/tier-1"})
            ->text;
    EXPECT_EQ(
        look(job, {"template", "spec", "template", "spec", "containers", "0", "env", "0", "value"})->text,
        std::to_string(node));
    for (int i = std::stoi(look(job, {"template", "spec", "completions"})->text); i > 0; --i) {
      EXPECT_EQ(plan.nodes.at(node++).minipod, pod);
    }
  }
  EXPECT_EQ(node, plan.nodes.size());
}

TEST(Kubernetes, QueuedJobsKeepSegmentsTogether) {
  const Plan plan = block_plan();
  for (const auto& [file, keys] :
       {std::pair("kubernetes-kueue.yaml", kKueue), std::pair("kubernetes-kai.yaml", kKai)}) {
    const std::vector<YamlNode> documents = documents_of(plan, file);
    ASSERT_EQ(documents.size(), 2U) << file;
    expect_keys(documents[0], kService);
    expect_keys(documents[1], kJob);
    expect_keys(documents[1], keys);
  }
  const std::vector<YamlNode> volcano = documents_of(plan, "kubernetes-volcano.yaml");
  ASSERT_EQ(volcano.size(), 1U);
  expect_keys(volcano[0], kVolcano);
}

TEST(Kubernetes, HyperNodesHoldEachHostOnce) {
  const Result<std::vector<YamlNode>> documents =
      parse_yaml("hyper-nodes", volcano_hyper_nodes(interleaved_topology(), 1));
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  ASSERT_EQ(documents->size(), 5U);
  std::set<std::string> hosts;
  for (std::size_t k = 0; k < 4; ++k) {
    expect_keys((*documents)[k], {{{"apiVersion"}, "topology.volcano.sh/v1alpha1"},
                                  {{"kind"}, "HyperNode"},
                                  {{"metadata", "name"}, fmt::format("{}-{}", static_cast<char>('a' + k), k)},
                                  {{"spec", "tier"}, "1"},
                                  {{"spec", "members", "0", "type"}, "Node"}});
    for (const YamlNode& member : look((*documents)[k], {"spec", "members"})->items) {
      hosts.insert(look(member, {"selector", "exactMatch", "name"})->text);
    }
    EXPECT_EQ(
        look((*documents)[4], {"spec", "members", std::to_string(k), "selector", "exactMatch", "name"})->text,
        look((*documents)[k], {"metadata", "name"})->text);
  }
  EXPECT_EQ(hosts.size(), 16U);
  expect_keys((*documents)[4], {{{"spec", "tier"}, "2"}, {{"spec", "members", "0", "type"}, "HyperNode"}});
}

TEST(Kubernetes, OddJobNamesBecomeDnsLabels) {
  Plan plan = block_plan();
  plan.job = "9 LLM/run_7 with a name that is much too long for a label";
  const std::vector<YamlNode> documents = documents_of(plan, "kubernetes-pods.yaml");
  EXPECT_EQ(look(documents[0], {"metadata", "name"})->text, "j9-llm-run-7-with-a-name-that-i");
}

}  // namespace
}  // namespace rudder::place

// SPDX-License-Identifier: Apache-2.0
// Network, matrix products and installed programs.
#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/doctor/checks.h"

namespace rudder::doctor {
namespace {

bool starts_with_any(std::string_view transport, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return transport.starts_with(prefix); });
}

Finding check_transports(const Result<std::vector<std::string>>& transports) {
  Finding finding{.name = "UCX transports", .why = "they carry rows between ranks"};
  if (!transports.ok() || transports.value().empty()) {
    finding.verdict = Verdict::kFailure;
    finding.value = transports.ok() ? "none" : transports.error().message;
    finding.remedy = "unset UCX_TLS and UCX_NET_DEVICES; apt-get install libucx0";
    return finding;
  }
  finding.value = fmt::format("{}", fmt::join(transports.value(), ", "));
  const auto any = [&](const auto& wanted) { return std::ranges::any_of(transports.value(), wanted); };
  const bool network = has_remote_memory_access(transports.value()) || any([](const std::string& name) {
                         return name.starts_with("tcp/") && name != "tcp/lo";
                       });
  const bool local = any([](const std::string& name) { return starts_with_any(name, {"sysv/", "posix/"}); });
  if (!network && !local && !any([](const std::string& name) { return name == "tcp/lo"; })) {
    finding.verdict = Verdict::kFailure;
    finding.remedy = "unset UCX_TLS and UCX_NET_DEVICES: with these no other process can be reached";
  } else if (!network) {
    finding.verdict = Verdict::kWarning;
    finding.remedy =
        "ip link set DEVICE up, or unset UCX_TLS and UCX_NET_DEVICES: no other machine can be reached";
  } else if (!local) {
    finding.verdict = Verdict::kWarning;
    finding.remedy = "unset UCX_TLS: without shared memory, ranks of one machine use the network";
  }
  return finding;
}

Finding check_namespaces(const NetworkFacts& facts) {
  const Status& first = facts.namespaces.ok() ? facts.shaping : facts.namespaces;
  Finding finding{.name = "shaped links",
                  .value = first.ok() ? "network namespaces and tc tbf work" : first.error().message,
                  .why =
                      "the demo's hosts are network namespaces behind links of a set rate; without them the "
                      "program limits its own traffic"};
  if (!first.ok()) {
    finding.verdict = Verdict::kWarning;
    finding.remedy = facts.namespaces.ok() ? "modprobe sch_tbf veth bridge (as root)"
                                           : "run as root, with iproute2 (apt-get install iproute2)";
  }
  return finding;
}

Finding check_commands(const SoftwareFacts& facts, std::string_view name, std::string_view remedy,
                       const std::vector<std::string>& commands) {
  std::vector<std::string> found;
  for (const std::string& command : commands) {
    const auto at = facts.commands.find(command);
    if (at != facts.commands.end() && at->second) {
      found.push_back(command);
    }
  }
  Finding finding{.name = std::string(name),
                  .value = found.empty() ? "not installed; needed only where ranks are started with it"
                                         : fmt::format("{}", fmt::join(found, ", ")),
                  .why = "one way to start ranks on several machines"};
  if (found.size() < commands.size()) {
    finding.remedy = remedy;
  }
  return finding;
}

Finding check_packages(const SoftwareFacts& facts, const std::string& set,
                       const std::vector<std::string>& packages) {
  Finding finding{.name = fmt::format("packages: {}", set),
                  .value = fmt::format("all {} are installed", packages.size()),
                  .why = set == "build" ? "they build the program and run the demo"
                                        : "they are needed to test the program itself"};
  if (!facts.installed) {
    finding.value = "no Debian packages here; see script/bootstrap for what is needed";
    return finding;
  }
  std::vector<std::string> missing;
  std::ranges::copy_if(packages, std::back_inserter(missing),
                       [&](const std::string& name) { return !facts.installed->contains(name); });
  if (!missing.empty()) {
    finding.value =
        fmt::format("{} of {} are missing: {}", missing.size(), packages.size(), fmt::join(missing, ", "));
    finding.remedy = fmt::format("apt-get install --no-install-recommends {}", fmt::join(missing, " "));
    finding.verdict = set == "build" ? Verdict::kWarning : Verdict::kOk;
  }
  return finding;
}

}  // namespace

bool has_remote_memory_access(const std::vector<std::string>& transports) {
  return std::ranges::any_of(transports, [](const std::string& name) {
    return starts_with_any(name, {"rc", "dc", "ud"});
  });
}

Findings check_network(const NetworkFacts& facts) {
  return {check_transports(facts.transports), check_namespaces(facts)};
}

Finding check_blas(const BlasFacts& facts) {
  Finding finding{.name = "matrix products",
                  .value = facts.kernels,
                  .why =
                      "most of a step's arithmetic; narrow kernels take four times as long, the reference "
                      "library tens of times"};
  if (facts.kernels == "none" || facts.kernels.empty()) {
    finding.verdict = Verdict::kFailure;
    finding.value = "no library is loaded";
    finding.remedy = "apt-get install libopenblas0-pthread";
  } else if (facts.kernels == "reference") {
    finding.verdict = Verdict::kWarning;
    finding.value = "reference library";
    finding.remedy =
        "apt-get install libopenblas0-pthread; if it is there: update-alternatives --config "
        "libblas.so.3-x86_64-linux-gnu";
  } else if (!facts.wider.empty()) {
    finding.verdict = Verdict::kWarning;
    finding.value = fmt::format("{} kernels on a processor for {}", facts.kernels, facts.wider);
    finding.remedy = fmt::format("export OPENBLAS_CORETYPE={}", facts.wider);
  }
  return finding;
}

Findings check_software(const SoftwareFacts& facts) {
  Findings findings = {
      check_commands(facts, "Slurm", "apt-get install slurm-client", {"srun", "sbatch", "scontrol"}),
      check_commands(facts, "Open MPI", "apt-get install openmpi-bin", {"mpirun"}),
      check_commands(facts, "ssh", "apt-get install openssh-client", {"ssh"})};
  for (const auto& [set, packages] : facts.package_sets) {
    findings.push_back(check_packages(facts, set, packages));
  }
  return findings;
}

}  // namespace rudder::doctor

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "rudder/doctor/probe.h"
#include "rudder/train/blas.h"

#include "cli/command.h"
#include "cli/trainer.h"

namespace rudder::cli {
namespace {

class Doctor final : public Command {
 public:
  Doctor() { add_json_option(); }

  Result<int> run(const Program& program) override {
    RUDDER_TRY(find_trainer(program));  // what is said of kernels is of those that training gets
    const doctor::Findings findings = examine();
    const auto count = [&](doctor::Verdict verdict) {
      return std::ranges::count(findings, verdict, &doctor::Finding::verdict);
    };
    const auto warnings = count(doctor::Verdict::kWarning);
    const auto failures = count(doctor::Verdict::kFailure);
    if (json()) {
      print_json({{"checks", to_json(findings)}, {"warnings", warnings}, {"failures", failures}});
    } else {
      for (const doctor::Finding& finding : findings) {
        describe(finding);
      }
      say(fmt::format("{} checks: {} warnings, {} failures", findings.size(), warnings, failures));
    }
    return failures == 0 ? 0 : 1;
  }

 private:
  static doctor::Findings examine() {
    const doctor::NetworkFacts network = doctor::probe_network();
    const bool remote_memory =
        network.transports.ok() && doctor::has_remote_memory_access(network.transports.value());
    doctor::Findings findings = check_processor(doctor::probe_processor("/"));
    const auto add = [&](doctor::Findings more) { std::ranges::move(more, std::back_inserter(findings)); };
    add({doctor::check_blas({.kernels = train::blas_kernels(), .wider = train::wider_kernels()})});
    add(check_memory(doctor::probe_memory("/")));
    add(check_limits(doctor::probe_limits(), remote_memory));
    add(check_network(network));
    add(check_software(doctor::probe_software()));
    return findings;
  }

  static Json to_json(const doctor::Findings& findings) {
    Json list = Json::array();
    for (const doctor::Finding& finding : findings) {
      list.push_back({{"name", finding.name},
                      {"verdict", std::string(doctor::name_of(finding.verdict))},
                      {"value", finding.value},
                      {"why", finding.why},
                      {"remedy", finding.remedy}});
    }
    return list;
  }

  /// Reasons and remedies only where something is to be done.
  static void describe(const doctor::Finding& finding) {
    say(fmt::format("{:<8} {:<16} {}", doctor::name_of(finding.verdict), finding.name, finding.value));
    if (finding.verdict != doctor::Verdict::kOk) {
      say(fmt::format("{:25} why: {}", "", finding.why));
      say(fmt::format("{:25} do:  {}", "", finding.remedy));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor() {
  return std::make_unique<Doctor>();
}

}  // namespace rudder::cli

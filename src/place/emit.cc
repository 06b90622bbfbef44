// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/place/hand_over.h"

namespace rudder::place {
namespace {

/// Options end up in scripts and manifests; what could end a line or a quoted text there is refused.
Status check_options(const HandOverOptions& options) {
  const auto bad = [](const std::string& text, std::string_view forbidden) {
    return text.empty() || std::any_of(text.begin(), text.end(), [&](char c) {
             return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ||
                    forbidden.find(c) != std::string_view::npos;
           });
  };
  if (bad(options.command, "")) {
    return Error{Errc::kInvalidArgument, "the command is empty or holds a line break"};
  }
  for (const std::string* text :
       {&options.image, &options.gpu_resource, &options.minipod_label, &options.queue}) {
    if (bad(*text, "\"'\\ ")) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("'{}' is empty or holds blanks or quotes", text->substr(0, 80))};
    }
  }
  return {};
}

struct NodeFormat {
  std::string_view name;
  std::string (*make)(const Plan&, const HandOverOptions&);
};

constexpr std::array<NodeFormat, 6> kNodeFormats = {{{"torchrun.txt", torchrun_commands},
                                                     {"kubernetes-pods.yaml", kubernetes_pods},
                                                     {"kubernetes-jobset.yaml", kubernetes_jobset},
                                                     {"kubernetes-kueue.yaml", kubernetes_kueue},
                                                     {"kubernetes-volcano.yaml", kubernetes_volcano},
                                                     {"kubernetes-kai.yaml", kubernetes_kai}}};

}  // namespace

Result<HandOver> hand_over(const Plan& plan, const HandOverOptions& options) {
  RUDDER_TRY(check_options(options));
  HandOver result;
  result.files = {{"placement.json", to_json(plan)},
                  {"slurm-hosts.txt", slurm_host_file(plan)},
                  {"slurm.sbatch", slurm_script(plan, options)},
                  {"openmpi-hosts.txt", openmpi_host_file(plan)},
                  {"openmpi-ranks.txt", openmpi_rankfile(plan, options.cores_per_gpu)},
                  {"openmpi.sh", openmpi_script(plan, options)}};
  for (const NodeFormat& format : kNodeFormats) {
    if (ranks_are_consecutive(plan)) {
      result.files.push_back({std::string(format.name), format.make(plan, options)});
    } else {
      result.left_out.push_back(fmt::format(
          "{}: it numbers nodes, and in row-major order with TP {} on nodes of {} GPUs the ranks of "
          "a node are not consecutive",
          format.name, plan.shape.tp, plan.shape.gpus_per_node));
    }
  }
  return result;
}

}  // namespace rudder::place

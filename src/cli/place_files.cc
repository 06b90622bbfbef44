// SPDX-License-Identifier: Apache-2.0
#include "cli/place_files.h"

#include <cstdint>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/place/draw.h"

namespace rudder::cli {

void HandOverInput::add_options(OptionTable& options) {
  options.path("out", out_, "Folder for all hand-over files and the heat map");
  options.text("command", "COMMAND", options_.command, "What a rank runs, for hand-over files");
  options.integer<std::uint16_t>("port", options_.port, 1, 65535, "Of the rendezvous on rank 0's host");
  options.integer<std::int32_t>("cores-per-gpu", options_.cores_per_gpu, 1, 1024,
                                "Cores that Open MPI rankfiles bind a rank to");
  options.text("image", "IMAGE", options_.image, "Container of Kubernetes pods");
  options.text("gpu-resource", "NAME", options_.gpu_resource, "Resource that Kubernetes pods ask for");
  options.text("minipod-label", "KEY", options_.minipod_label, "Kubernetes node label that names minipods");
  options.text("queue", "NAME", options_.queue, "Of Kueue, Volcano and KAI");
}

Result<std::vector<std::string>> HandOverInput::write(const place::Plan& plan) const {
  if (out_.empty()) {
    return std::vector<std::string>();
  }
  RUDDER_ASSIGN(const place::HandOver files, place::hand_over(plan, options_));
  RUDDER_TRY(make_directories(out_));
  for (const place::HandOverFile& file : files.files) {
    RUDDER_TRY(write_text(out_ / file.name, file.text));
  }
  std::vector<std::string> lines = {fmt::format("wrote {} files to {}", files.files.size(), out_.string())};
  for (const std::string& reason : files.left_out) {
    lines.push_back("left out " + reason);
  }
  if (const Result<std::string> page = place::heat_map_html(plan)) {
    RUDDER_TRY(write_text(out_ / "heat-map.html", *page));
  } else {
    lines.push_back("left out heat-map.html: " + page.error().message);
  }
  return lines;
}

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/topology_files.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/text.h"

#include "place/topology_readers.h"

namespace rudder::place {
namespace {

constexpr std::size_t kMaxYaml = std::size_t{64} << 20;

struct FormatInfo {
  TopologyFormat format;
  std::string_view name;
  Status (*read)(std::string_view, const TopologyFileOptions&, TopologyBuilder&);
};

constexpr std::array<FormatInfo, 8> kFormats = {{
    {TopologyFormat::kAuto, "auto", nullptr},
    {TopologyFormat::kSlurmConf, "slurm-conf", read_slurm_conf},
    {TopologyFormat::kSlurmYaml, "slurm-yaml", read_slurm_yaml},
    {TopologyFormat::kTopographGraph, "topograph-graph", read_topograph_graph},
    {TopologyFormat::kTopographModel, "topograph-model", read_topograph_model},
    {TopologyFormat::kKubernetes, "kubernetes", read_kubernetes},
    {TopologyFormat::kIbnetdiscover, "ibnetdiscover", read_ibnetdiscover},
    {TopologyFormat::kHostList, "hosts", read_host_list},
}};

const FormatInfo& info_of(TopologyFormat format) {
  return kFormats[static_cast<std::size_t>(format)];
}

bool starts_with_word(std::string_view line, std::string_view lower_case_word) {
  return line.size() >= lower_case_word.size() &&
         std::equal(lower_case_word.begin(), lower_case_word.end(), line.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
}

/// JSON: by the first key that only one of the formats has.
TopologyFormat detect_json(std::string_view text) {
  const std::size_t instances = text.find("\"instances\"");
  const std::size_t layers = text.find("\"network_layers\"");
  const std::size_t items = std::min(text.find("\"items\""), text.find("\"metadata\""));
  return std::min(instances, layers) < items ? TopologyFormat::kTopographGraph : TopologyFormat::kKubernetes;
}

/// By the first line that says something.
TopologyFormat detect(std::string_view text) {
  constexpr std::array<std::string_view, 4> kModelSections = {
      "switches:", "nodes:", "blocks:", "capacity_blocks:"};
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = trim(line);
    if (line.empty() || line.starts_with('#') || line == "---") {
      continue;
    }
    if (line.starts_with('{') || line.starts_with('[')) {
      return detect_json(text);
    }
    if (line.starts_with("- topology:") || line.starts_with("-") || line.starts_with("topology:")) {
      return TopologyFormat::kSlurmYaml;
    }
    if (std::any_of(kModelSections.begin(), kModelSections.end(),
                    [&](std::string_view section) { return line.starts_with(section); })) {
      return TopologyFormat::kTopographModel;
    }
    if (starts_with_word(line, "switchname") || starts_with_word(line, "blockname") ||
        starts_with_word(line, "blocksizes") || starts_with_word(line, "include ")) {
      return TopologyFormat::kSlurmConf;
    }
    if (line.starts_with("vendid=") || line.starts_with("Switch\t") || line.starts_with("Ca\t")) {
      return TopologyFormat::kIbnetdiscover;
    }
    return TopologyFormat::kHostList;
  }
  return TopologyFormat::kHostList;
}

}  // namespace

const std::vector<std::string>& topology_format_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const FormatInfo& info : kFormats) {
      list.emplace_back(info.name);
    }
    return list;
  }();
  return names;
}

std::string_view name_of(TopologyFormat format) {
  return info_of(format).name;
}

Result<TopologyFormat> topology_format_from_name(std::string_view name) {
  for (const FormatInfo& info : kFormats) {
    if (info.name == name) {
      return info.format;
    }
  }
  return Error{Errc::kInvalidArgument, fmt::format("'{}' is no topology format", name)};
}

Result<TopologyFile> read_topology(const std::filesystem::path& path, const TopologyFileOptions& options) {
  RUDDER_ASSIGN(const std::string content, read_text(path, kMaxFileBytes));
  const std::string_view text = without_byte_order_mark(content);
  const TopologyFormat format = options.format == TopologyFormat::kAuto ? detect(text) : options.format;
  if ((format == TopologyFormat::kSlurmYaml || format == TopologyFormat::kTopographModel) &&
      text.size() > kMaxYaml) {
    return Error{Errc::kInvalidData, fmt::format("{}: {} of YAML, more than {} allowed", path.string(),
                                                 human_bytes(static_cast<double>(text.size())),
                                                 human_bytes(static_cast<double>(kMaxYaml)))};
  }
  TopologyBuilder builder(path.string());
  RUDDER_TRY(info_of(format).read(text, options, builder));
  RUDDER_ASSIGN(TopologyFile file, std::move(builder).finish(options.unknown));
  file.format = format;
  return file;
}

}  // namespace rudder::place

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/place/topology_files.h"

namespace rudder::place {

/// Writes a file without waiting for the disk, which write_text() does.
inline bool write_quickly(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  return file.good();
}

/// Writes a file and reads it as a topology.
inline Result<TopologyFile> read_from_text(std::string_view text, const TopologyFileOptions& options = {},
                                           const std::string& name = "topology.conf") {
  RUDDER_ASSIGN(const TemporaryDirectory directory, TemporaryDirectory::create("rudder-topology"));
  EXPECT_TRUE(write_quickly(directory.path() / name, text));
  return read_topology(directory.path() / name, options);
}

inline TopologyFile must_read(std::string_view text, const TopologyFileOptions& options = {}) {
  Result<TopologyFile> file = read_from_text(text, options);
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return file.ok() ? std::move(file).value() : TopologyFile();
}

/// The error of reading the text, or "read without an error".
inline std::string error_of(std::string_view text, const TopologyFileOptions& options = {}) {
  const Result<TopologyFile> file = read_from_text(text, options);
  return file.ok() ? "read without an error" : file.error().message;
}

/// "root/leaf: a b c" for each switch with hosts, in the topology's order.
inline std::vector<std::string> outline(const Topology& topology) {
  std::vector<std::string> lines(topology.switches.size());
  std::vector<std::string> paths;
  for (const Switch& s : topology.switches) {
    paths.push_back(s.parent == kNoSwitch ? s.name
                                          : paths[static_cast<std::size_t>(s.parent)] + "/" + s.name);
  }
  for (const Host& host : topology.hosts) {
    std::string& line = lines[static_cast<std::size_t>(host.leaf)];
    line += (line.empty() ? paths[static_cast<std::size_t>(host.leaf)] + ":" : "") + " " + host.name;
  }
  std::erase(lines, "");
  return lines;
}

}  // namespace rudder::place

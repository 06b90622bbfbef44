// SPDX-License-Identifier: Apache-2.0
// Options that the place commands share, and what is read for them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/plan.h"
#include "rudder/place/topology_files.h"

#include "cli/option_table.h"

namespace rudder::cli {

struct LoadedTopology {
  place::TopologyFile file;
  std::int32_t level = 1;            ///< of minipods
  std::vector<std::string> remarks;  ///< for people, a line each
  [[nodiscard]] const place::Topology& topology() const { return file.topology; }
};

/// Where the cluster is described: a topology file and, optionally, the state of its hosts.
class TopologyInput {
 public:
  /// Adds everything but the file itself, which is an option of some commands and an argument of others.
  void add_options(OptionTable& options);
  [[nodiscard]] Result<LoadedTopology> load(const std::filesystem::path& file) const;

 private:
  [[nodiscard]] Result<place::TopologyFileOptions> file_options() const;
  [[nodiscard]] Status apply_state(LoadedTopology& loaded) const;

  std::string format_ = "auto";
  std::string unknown_ = "error";
  std::string label_keys_;
  std::string topology_name_;
  std::filesystem::path state_;
  std::string strangers_ = "error";
  std::string level_ = "auto";
};

/// The job's sizes and the order of its ranks.
struct ShapeInput {
  place::JobShape shape;
  std::string order = "column-major";

  void add_options(OptionTable& options);
  [[nodiscard]] Result<place::RankOrder> rank_order() const { return place::rank_order_from_name(order); }
};

/// A cluster is described by either --capacities or --topology. Errors: kInvalidArgument for both or none.
[[nodiscard]] Status require_one_cluster(const std::string& capacities,
                                         const std::filesystem::path& topology);
/// Free hosts of each minipod.
[[nodiscard]] std::vector<std::int32_t> free_hosts(const LoadedTopology& loaded);
/// "4x6" → a grid of 4 rows and 6 columns.
[[nodiscard]] Result<place::Grid> parse_grid(const std::string& text);
/// "4,4,2" → numbers of nodes, each 0..2^24.
[[nodiscard]] Result<std::vector<std::int32_t>> parse_capacities(const std::string& text);
/// The first few names, separated by commas.
[[nodiscard]] std::string some(const std::vector<std::string>& names);
/// A host list expression, or a file of names when it starts with '@'. Empty text gives none.
[[nodiscard]] Result<std::vector<std::string>> parse_hosts(const std::string& text);

}  // namespace rudder::cli

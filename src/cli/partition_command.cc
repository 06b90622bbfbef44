// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "rudder/core/machine.h"
#include "rudder/core/text.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/partition.h"
#include "rudder/report/progress.h"

#include "cli/command.h"
#include "cli/run_options.h"

namespace rudder::cli {
namespace {

class Partition final : public Command {
 public:
  Partition() {
    add_partition_options(options(), partition_);
    options().integer<std::uint64_t>("seed", partition_.seed, 0, ~std::uint64_t{0}, "Of everything random");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("DIR", graph_, "Graph folder to cut");
    arguments.one("OUT", out_, "Partition folder to write");
  }
  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const graph::Graph graph, graph::Graph::open(graph_));
    say(fmt::format("{} nodes into {} parts by {}: about {} of memory, {} available", graph.meta().nodes,
                    partition_.parts, graph::name_of(partition_.method),
                    human_bytes(static_cast<double>(graph::partition_memory_bytes(graph.meta(), partition_))),
                    human_bytes(static_cast<double>(available_memory_bytes()))));
    graph::PartitionReport report;
    {
      report::Progress progress("partition");
      RUDDER_ASSIGN(report,
                    graph::partition_graph(graph, partition_, out_, [&](double share, std::string_view what) {
                      progress.update(share, what);
                    }));
    }
    if (report.empty_parts > 0) {
      say(fmt::format("warning: {} of {} parts have no nodes", report.empty_parts, report.parts));
    }
    if (json()) {
      print_json({{"parts", report.parts},
                  {"edge_cut", report.edge_cut},
                  {"balance",
                   {{"nodes", report.balance_nodes},
                    {"edges", report.balance_edges},
                    {"train", report.balance_train}}},
                  {"halo", report.halo},
                  {"seconds", report.seconds},
                  {"method", report.method}});
    } else {
      say(fmt::format(
          "{} parts by {} in {:.2f} s: {} undirected edges cut ({:.1f} %); largest part over mean: nodes "
          "{:.3f}, edges {:.3f}, train {:.3f}; halo {}",
          report.parts, report.method, report.seconds, report.edge_cut,
          200.0 * static_cast<double>(report.edge_cut) /
              static_cast<double>(std::max<EdgeIndex>(1, graph.meta().edges)),
          report.balance_nodes, report.balance_edges, report.balance_train, fmt::join(report.halo, ", ")));
    }
    return 0;
  }

 private:
  std::filesystem::path graph_;
  std::filesystem::path out_;
  graph::PartitionOptions partition_;
};

}  // namespace

std::unique_ptr<Command> make_partition() {
  return std::make_unique<Partition>();
}

}  // namespace rudder::cli

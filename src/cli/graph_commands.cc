// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/graph/generators.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/importers.h"
#include "rudder/graph/partition.h"

#include "cli/command.h"
#include "cli/run_options.h"

namespace rudder::cli {
namespace {

Json info_json(const graph::GraphMeta& meta) {
  Json origin = Json::object();
  for (const auto& [key, value] : meta.origin) {
    origin[key] = value;
  }
  Json info = {{"nodes", meta.nodes},
               {"edges", meta.edges},
               {"features", meta.features},
               {"dtype", name_of(meta.dtype)},
               {"classes", meta.classes},
               {"train", meta.train},
               {"val", meta.val},
               {"test", meta.test},
               {"max_degree", meta.max_degree},
               {"origin", std::move(origin)}};
  if (meta.multi_label) {
    info["multi_label"] = true;  // not among the names that scripts rely on
  }
  return info;
}

std::string info_text(const graph::GraphMeta& meta) {
  std::string text = fmt::format(
      "{} nodes, {} stored edges (an undirected edge counts twice), largest degree {}\n"
      "{} {} features a node ({}), {} classes{}; train {}, val {}, test {}",
      meta.nodes, meta.edges, meta.max_degree, meta.features, name_of(meta.dtype),
      human_bytes(static_cast<double>(meta.nodes) * static_cast<double>(meta.features * size_of(meta.dtype))),
      meta.classes, meta.multi_label ? " of which a node has any number" : "", meta.train, meta.val,
      meta.test);
  if (meta.train == 0) {
    text += "\nno training nodes: nothing can be trained on this graph";
  }
  for (const auto& [key, value] : meta.origin) {
    text += fmt::format("\n{}: {}", key, value);
  }
  return text;
}

/// Base of the commands that end by saying what a graph folder holds.
class GraphCommand : public Command {
 protected:
  Result<int> finish(const std::filesystem::path& directory) {
    RUDDER_ASSIGN(const graph::Graph graph, graph::Graph::open(directory));
    return show(graph);
  }
  Result<int> show(const graph::Graph& graph) {
    if (json()) {
      print_json(info_json(graph.meta()));
    } else {
      say(info_text(graph.meta()));
    }
    return 0;
  }
  std::filesystem::path directory_;
};

class GraphImport final : public GraphCommand {
 public:
  GraphImport() {
    options().choice("format", format_, {"planetoid", "snap", "ogb", "npz", "dgl"},
                     "What wrote the source; required");
    options().integer<std::size_t>("features", import_.features, 1, 65536,
                                   "snap: width of the seeded features");
    options().integer<std::int64_t>("classes", import_.classes, 2, 65536, "snap: number of seeded classes");
    options().integer<std::uint64_t>("seed", import_.seed, 0, ~std::uint64_t{0}, "Of what the source lacks");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("SRC", source_, "File or folder to read");
    arguments.one("DIR", directory_, "Graph folder to write");
  }
  Result<int> run(const Program&) override {
    const auto format = graph::import_format_from_name(format_);
    if (!format) {
      return Error{Errc::kInvalidArgument, "--format is required: planetoid, snap, ogb, npz or dgl"};
    }
    RUDDER_ASSIGN(const graph::GraphData data, graph::import_graph(*format, source_, import_));
    RUDDER_TRY(graph::write_graph(directory_, data));
    return finish(directory_);
  }

 private:
  std::string format_;
  std::filesystem::path source_;
  graph::ImportOptions import_;
};

class GraphGenerate final : public GraphCommand {
 public:
  GraphGenerate() {
    add_generator_options(options(), generate_);
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("NAME", name_, "debian, wordnet, rmat, chung-lu or planted");
    arguments.one("DIR", directory_, "Graph folder to write");
  }
  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const graph::GraphData data, graph::generate_graph(name_, generate_));
    RUDDER_TRY(graph::write_graph(directory_, data));
    return finish(directory_);
  }

 private:
  std::string name_;
  graph::GeneratorOptions generate_;
};

class GraphInfo final : public GraphCommand {
 public:
  GraphInfo() { add_json_option(); }
  void add_arguments(Arguments& arguments) override { arguments.one("DIR", directory_, "Graph folder"); }
  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const graph::Graph graph, graph::Graph::open(directory_));
    RUDDER_TRY(graph::check_features(graph));
    return show(graph);
  }
};

class GraphExport final : public GraphCommand {
 public:
  GraphExport() { add_json_option(); }
  void add_arguments(Arguments& arguments) override {
    arguments.one("PARTITION", partition_, "Partition folder to read");
    arguments.one("DIR", directory_, "Graph folder to write");
  }
  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(const graph::PartitionedGraph partitioned, graph::PartitionedGraph::open(partition_));
    RUDDER_TRY(graph::export_graph(partitioned, directory_));
    return finish(directory_);
  }

 private:
  std::filesystem::path partition_;
};

}  // namespace

std::unique_ptr<Command> make_graph_import() {
  return std::make_unique<GraphImport>();
}
std::unique_ptr<Command> make_graph_generate() {
  return std::make_unique<GraphGenerate>();
}
std::unique_ptr<Command> make_graph_info() {
  return std::make_unique<GraphInfo>();
}
std::unique_ptr<Command> make_graph_export() {
  return std::make_unique<GraphExport>();
}

}  // namespace rudder::cli

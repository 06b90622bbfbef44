// SPDX-License-Identifier: Apache-2.0
// Graphs as text: columns of numbers, SNAP's edge lists (plain or gzip), Debian's control files, WordNet's
// synsets.
#include "rudder/graph/generators.h"

#include "fuzz_folder.h"
#include "fuzz_input.h"
#include "graph/csv.h"
#include "graph/debian_control.h"
#include "graph/import_common.h"

namespace rudder::graph {
namespace {

void check(const GraphData& data) {
  const auto nodes = static_cast<NodeId>(data.indptr.size()) - 1;
  RUDDER_CHECK(validate_csc({data.indptr, data.indices}, nodes, "graph").ok(), "graphs are valid");
  RUDDER_CHECK(data.labels.size() == static_cast<std::size_t>(nodes), "a label a node");
}

void columns(fuzz::Input& input) {
  const std::uint64_t kind = input.below(4);
  const fuzz::MemoryFile file(input.rest());
  switch (kind) {
    case 0:
      static_cast<void>(for_each_int_row(file.path(), 2, [](std::span<const std::int64_t> row) {
        RUDDER_CHECK(row.size() == 2, "rows have the columns asked for");
        return Status();
      }));
      break;
    case 1:
      static_cast<void>(read_int_column(file.path(), fuzz::kMemoryLimit));
      break;
    case 2:
      static_cast<void>(read_label_column(file.path(), fuzz::kMemoryLimit));
      break;
    default:
      if (const auto table = read_float_table(file.path(), fuzz::kMemoryLimit); table.ok()) {
        RUDDER_CHECK(table->values.size() == table->rows * table->columns * sizeof(float), "tables are full");
      }
  }
}

void snap(std::span<const std::byte> bytes) {
  const fuzz::MemoryFile file(bytes);
  const auto data =
      import_snap(file.path(), {.features = 2, .classes = 2, .memory_limit = fuzz::kMemoryLimit});
  if (data.ok()) {
    check(data.value());
  }
}

void debian(std::string_view text) {
  if (const auto packages = parse_control(text); packages.ok()) {
    for (const DebianPackage& package : packages.value()) {
      static_cast<void>(parse_relations(package.depends));
      static_cast<void>(parse_relations(package.provides));
    }
  }
  if (const auto data = debian_graph(text, {.features = 4}); data.ok()) {
    check(data.value());
  }
}

void wordnet(fuzz::Input& input) {
  static fuzz::Folder folder;
  folder.write_sections(input.text(), {"data.noun", "data.verb", "data.adj", "data.adv"});
  if (const auto data = wordnet_graph(folder.path().string(), {.features = 4}); data.ok()) {
    check(data.value());
  }
}

}  // namespace
}  // namespace rudder::graph

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(4)) {
    case 0:
      rudder::graph::columns(input);
      break;
    case 1:
      rudder::graph::snap(input.rest());
      break;
    case 2:
      rudder::graph::debian(input.text());
      break;
    default:
      rudder::graph::wordnet(input);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A whole Planetoid set: eight files in one input, which have to fit each other.
#include "fuzz_folder.h"
#include "fuzz_input.h"
#include "graph/import_common.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace graph = rudder::graph;
  static rudder::fuzz::Folder folder;
  rudder::fuzz::Input input(data, size);
  folder.write_sections(input.text(), {"ind.f.x", "ind.f.y", "ind.f.tx", "ind.f.ty", "ind.f.allx",
                                       "ind.f.ally", "ind.f.graph", "ind.f.test.index"});
  const auto made =
      graph::import_planetoid(folder.path() / "ind.f", {.memory_limit = rudder::fuzz::kMemoryLimit});
  if (made.ok()) {
    const auto nodes = static_cast<rudder::NodeId>(made->indptr.size()) - 1;
    RUDDER_CHECK(graph::validate_csc({made->indptr, made->indices}, nodes, "graph").ok(), "graphs are valid");
    RUDDER_CHECK(made->labels.size() == static_cast<std::size_t>(nodes), "a label a node");
  }
  return 0;
}

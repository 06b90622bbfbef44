// SPDX-License-Identifier: Apache-2.0
// DGL's tensor and graph files, and the metadata of its partitions.
#include <algorithm>

#include "fuzz_input.h"
#include "graph/dgl_container.h"
#include "graph/dgl_metadata.h"

namespace rudder::graph {
namespace {

void use(const DglTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    std::size_t bytes = size_of(tensor.dtype);
    for (const std::size_t length : tensor.shape) {
      bytes *= length;
    }
    RUDDER_CHECK(tensor.bytes.size() == bytes, "as many bytes as elements");
    RUDDER_CHECK(find_tensor(tensors, name) != nullptr, "names are found");
  }
}

void graphs(std::span<const std::byte> bytes) {
  const auto file = read_dgl_graphs(bytes, "graph");
  if (!file.ok()) {
    return;
  }
  use(file->labels);
  for (const DglGraph& graph : file->graphs) {
    for (const DglTensors& tensors : graph.node_tensors) {
      use(tensors);
    }
    for (const auto& forms : graph.relations) {
      const std::int64_t nodes = graph.nodes_per_type.empty() ? 0 : graph.nodes_per_type[0];
      if (const auto edges = dgl_edges(forms, nodes, "graph"); edges.ok()) {
        RUDDER_CHECK(edges->source.size() == edges->target.size(), "edges have two ends");
        const auto outside = [&](std::int64_t v) { return v < 0 || v >= nodes; };
        RUDDER_CHECK(std::none_of(edges->source.begin(), edges->source.end(), outside), "ends are nodes");
        RUDDER_CHECK(std::none_of(edges->target.begin(), edges->target.end(), outside), "ends are nodes");
      }
    }
  }
}

void metadata(std::string_view text) {
  const fuzz::MemoryFile file(text);
  if (const auto found = read_dgl_metadata(file.path()); found.ok()) {
    RUDDER_CHECK(found->node_offsets.size() == found->parts.size() + 1, "a range a part");
    RUDDER_CHECK(std::is_sorted(found->node_offsets.begin(), found->node_offsets.end()), "ranges ascend");
    RUDDER_CHECK(found->node_offsets.back() == found->nodes, "ranges cover the nodes");
  }
}

}  // namespace
}  // namespace rudder::graph

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(3)) {
    case 0:
      if (const auto tensors = rudder::graph::read_dgl_tensors(input.rest(), "tensors"); tensors.ok()) {
        rudder::graph::use(tensors.value());
      }
      break;
    case 1:
      rudder::graph::graphs(input.rest());
      break;
    default:
      rudder::graph::metadata(input.text());
  }
  return 0;
}

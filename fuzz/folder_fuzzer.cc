// SPDX-License-Identifier: Apache-2.0
// graph.json and partition.json.
#include "fuzz_input.h"
#include "graph/folder.h"
#include "graph/json_text.h"
#include "graph/partition_folder.h"

namespace rudder::graph {
namespace {

void partition(std::string_view text) {
  const fuzz::MemoryFile on_disk(text);
  const auto json = read_json_text(on_disk.path());
  if (!json.ok()) {
    return;
  }
  if (const auto file = parse_partition_json(json.value(), "partition.json"); file.ok()) {
    const std::string written = partition_json_text(file.value());
    const auto again = parse_partition_json(written, "partition.json");
    RUDDER_CHECK(again.ok() && partition_json_text(again.value()) == written,
                 "what is read is what was written");
  }
}

void meta(std::string_view text) {
  const fuzz::MemoryFile file(text);
  if (const auto found = read_meta(file.path()); found.ok()) {
    RUDDER_CHECK(found->meta.nodes >= 0 && found->meta.edges >= 0, "counts are counts");
  }
}

}  // namespace
}  // namespace rudder::graph

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  if (input.below(2) == 0) {
    rudder::graph::partition(input.text());
  } else {
    rudder::graph::meta(input.text());
  }
  return 0;
}

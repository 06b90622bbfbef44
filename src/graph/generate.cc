// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/text.h"
#include "rudder/graph/generators.h"

#include "graph/capture.h"
#include "graph/generate_random.h"

namespace rudder::graph {
namespace {

constexpr const char* kWordnetDirectory = "/usr/share/wordnet";

Result<GraphData> this_debian(const GeneratorOptions& options) {
  auto text = capture_output({"apt-cache", "dumpavail"}, {});
  if (!text.ok()) {
    return text.error().in("debian graph: it is made from the package lists of a Debian system");
  }
  return debian_graph(text.value(), options);
}

Result<GraphData> this_wordnet(const GeneratorOptions& options) {
  return wordnet_graph(kWordnetDirectory, options);
}

struct Generator {
  std::string_view name;
  Result<GraphData> (*make)(const GeneratorOptions&);
};

constexpr std::array<Generator, 5> kGenerators{{{"debian", this_debian},
                                                {"wordnet", this_wordnet},
                                                {"rmat", rmat_graph},
                                                {"chung-lu", chung_lu_graph},
                                                {"planted", planted_graph}}};

}  // namespace

Result<GraphData> generate_graph(std::string_view name, const GeneratorOptions& options) {
  if (options.multi_label && name != "planted") {
    return Error{Errc::kInvalidArgument,
                 fmt::format("multi-label: the planted generator has it, {} does not", name)};
  }
  std::array<std::string_view, kGenerators.size()> names;
  for (std::size_t i = 0; i < kGenerators.size(); ++i) {
    if (kGenerators[i].name == name) {
      return kGenerators[i].make(options);
    }
    names[i] = kGenerators[i].name;
  }
  const std::string near = nearest_name(name, names);
  return Error{
      Errc::kInvalidArgument,
      fmt::format("unknown generator '{}'{} (known: {})", name,
                  near.empty() ? "" : fmt::format(", did you mean '{}'?", near), fmt::join(names, ", "))};
}

}  // namespace rudder::graph

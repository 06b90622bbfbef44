// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/graph/edges.h"
#include "rudder/graph/generators.h"

#include "graph/debian_control.h"
#include "graph/hashed_words.h"
#include "graph/seeded.h"

namespace rudder::graph {
namespace {

/// A virtual package stands for at most this many of its providers, in name order: some have hundreds, and
/// any one of them would do.
constexpr std::size_t kMaxProviders = 5;
/// A section with fewer packages than one in this many is merged into "other".
constexpr std::size_t kRareSection = 2000;

using Packages = std::vector<DebianPackage>;

/// Sorted by name; of several stanzas with one name the first stays.
Packages distinct_by_name(Packages packages) {
  std::stable_sort(packages.begin(), packages.end(),
                   [](const DebianPackage& a, const DebianPackage& b) { return a.name < b.name; });
  packages.erase(std::unique(packages.begin(), packages.end(),
                             [](const DebianPackage& a, const DebianPackage& b) { return a.name == b.name; }),
                 packages.end());
  return packages;
}

/// Finds what stands for a name: the package itself or, for a virtual one, its providers.
class Resolver {
 public:
  [[nodiscard]] static Result<Resolver> create(const Packages& packages) {
    Resolver out;
    for (std::size_t v = 0; v < packages.size(); ++v) {
      out.targets_[packages[v].name] = {static_cast<NodeId>(v)};
    }
    std::unordered_map<std::string_view, std::vector<NodeId>> providers;
    for (std::size_t v = 0; v < packages.size(); ++v) {
      auto clauses = parse_relations(packages[v].provides);
      if (!clauses.ok()) {
        return clauses.error().in(fmt::format("package {}, Provides", packages[v].name));
      }
      for (const auto& clause : clauses.value()) {
        std::vector<NodeId>& of = providers[clause.front()];
        if (of.size() < kMaxProviders && (of.empty() || of.back() != static_cast<NodeId>(v))) {
          of.push_back(static_cast<NodeId>(v));
        }
      }
    }
    for (auto& [name, of] : providers) {
      out.targets_.try_emplace(name, std::move(of));
    }
    return out;
  }

  /// Targets of the first alternative that exists, as apt would choose on an empty system; null when none
  /// does.
  [[nodiscard]] const std::vector<NodeId>* first_of(const std::vector<std::string_view>& alternatives) const {
    for (const std::string_view name : alternatives) {
      if (const auto found = targets_.find(name); found != targets_.end()) {
        return &found->second;
      }
    }
    return nullptr;
  }

 private:
  std::unordered_map<std::string_view, std::vector<NodeId>> targets_;
};

struct Dependencies {
  EdgeList edges;
  std::int64_t unresolved = 0;
};

Result<Dependencies> collect_dependencies(const Packages& packages) {
  RUDDER_ASSIGN(const Resolver resolver, Resolver::create(packages));
  Dependencies out;
  for (std::size_t v = 0; v < packages.size(); ++v) {
    const DebianPackage& package = packages[v];
    const std::pair<const char*, std::string_view> fields[] = {{"Depends", package.depends},
                                                               {"Pre-Depends", package.pre_depends},
                                                               {"Recommends", package.recommends}};
    for (const auto& [field, value] : fields) {
      auto clauses = parse_relations(value);
      if (!clauses.ok()) {
        return clauses.error().in(fmt::format("package {}, {}", package.name, field));
      }
      for (const auto& alternatives : clauses.value()) {
        const std::vector<NodeId>* targets = resolver.first_of(alternatives);
        out.unresolved += targets == nullptr ? 1 : 0;
        for (std::size_t i = 0; targets != nullptr && i < targets->size(); ++i) {
          out.edges.add((*targets)[i], static_cast<NodeId>(v));
        }
      }
    }
  }
  return out;
}

std::string_view section_of(const DebianPackage& package) {
  const std::size_t slash = package.section.rfind('/');
  return slash == std::string_view::npos ? package.section : package.section.substr(slash + 1);
}

/// Labels are the sections in alphabetical order, "other" last; no Section: -1. Returns the class names.
std::vector<std::string> add_section_labels(const Packages& packages, GraphData& data) {
  constexpr std::string_view kOther = "other";
  std::map<std::string_view, std::size_t> count;
  for (const DebianPackage& package : packages) {
    ++count[section_of(package)];
  }
  std::vector<std::string> names;
  std::map<std::string_view, std::int64_t> label{{"", -1}};
  for (const auto& [section, members] : count) {
    if (!section.empty() && section != kOther && members * kRareSection >= packages.size()) {
      label[section] = static_cast<std::int64_t>(names.size());
      names.emplace_back(section);
    }
  }
  const auto other = static_cast<std::int64_t>(names.size());
  for (const DebianPackage& package : packages) {
    const auto found = label.find(section_of(package));
    data.labels.push_back(found == label.end() ? other : found->second);
  }
  if (std::find(data.labels.begin(), data.labels.end(), other) != data.labels.end()) {
    names.emplace_back(kOther);
  }
  data.classes = static_cast<std::int64_t>(names.size());
  return names;
}

void add_text_features(const Packages& packages, std::size_t columns, GraphData& data) {
  data.features = columns;
  data.rows.resize(packages.size() * columns * sizeof(float));
  std::vector<float> row(columns);
  for (std::size_t v = 0; v < packages.size(); ++v) {
    std::fill(row.begin(), row.end(), 0.0F);
    // Name and description only: other fields (Section, Tag, Filename) give the label away.
    add_hashed_words(packages[v].name, row);
    add_hashed_words(packages[v].description, row);
    normalise_row(row);
    store_row(data, static_cast<NodeId>(v), row);
  }
}

}  // namespace

Result<GraphData> debian_graph(std::string_view dumpavail, const GeneratorOptions& options) {
  RUDDER_TRY(check_columns(options.features));
  auto parsed = parse_control(dumpavail);
  if (!parsed.ok()) {
    return parsed.error().in("package list");
  }
  const std::size_t stanzas = parsed->size();
  const Packages packages = distinct_by_name(std::move(parsed).value());
  if (packages.empty()) {
    return Error{Errc::kInvalidData, "package list: no packages in it (has `apt-get update` been run?)"};
  }
  auto dependencies = collect_dependencies(packages);
  if (!dependencies.ok()) {
    return dependencies.error().in("package list");
  }
  DropReport report;
  RUDDER_ASSIGN(Csc csc, build_csc(static_cast<NodeId>(packages.size()), std::move(dependencies->edges),
                                   Direction::kUndirected, report));
  GraphData data;
  data.indptr = std::move(csc.indptr);
  data.indices = std::move(csc.indices);
  const std::vector<std::string> names = add_section_labels(packages, data);
  add_text_features(packages, options.features, data);
  for (std::size_t v = 0; v < packages.size(); ++v) {
    if (data.labels[v] >= 0) {
      add_to_split(data, static_cast<NodeId>(v), options.seed, hash_text(packages[v].name), {0.6, 0.2});
    }
  }
  data.origin = {
      {"source", "debian: apt-cache dumpavail"},
      {"seed", std::to_string(options.seed)},
      {"nodes", "packages in name order; of several stanzas with one name the first"},
      {"repeated_names_dropped", std::to_string(stanzas - packages.size())},
      {"edges", fmt::format("Depends, Pre-Depends, Recommends: the first alternative that exists; a "
                            "virtual package stands for its first {} providers",
                            kMaxProviders)},
      {"dependencies_unresolved", std::to_string(dependencies->unresolved)},
      {"labels", fmt::format("section without archive area; those of fewer than one package in {} "
                             "are 'other'; none: -1",
                             kRareSection)},
      {"class_names", fmt::format("{}", fmt::join(names, ","))},
      {"features", "hashed signed words of name and description, length 1"},
      {"split", "60/20/20 by hash of the name"},
      {"symmetrised", "true"}};
  report.append_to(data.origin);
  return data;
}

}  // namespace rudder::graph

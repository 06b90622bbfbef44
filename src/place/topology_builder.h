// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/topology_files.h"

namespace rudder::place {

inline constexpr std::size_t kMaxHosts = std::size_t{1} << 22;

/// Where in a file something stands: a line number from 1, or an element's path.
struct Place {
  std::size_t line = 0;
  std::string element;
};

/// Switches that hang below each other.
struct SwitchCycle {
  SwitchId member = kNoSwitch;  ///< one of them
  std::string text;             ///< what is wrong, with their names
};
/// The first cycle, if any. Parents must be ids of the vector. O(n), no recursion.
[[nodiscard]] std::optional<SwitchCycle> find_cycle(const std::vector<Switch>& switches);

/// Lets std::string keys be found by string_view.
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
};
template <class Value>
using NameMap = std::unordered_map<std::string, Value, NameHash, std::equal_to<>>;

/// Collects the switches and hosts of one file, in whatever order it names them, and checks names, duplicates
/// and second parents as they come, so that errors have the place of the second mention and of the first.
class TopologyBuilder {
 public:
  /// `where` is the file's name for errors.
  explicit TopologyBuilder(std::string where) : where_(std::move(where)) {}

  /// A switch of this file's own lines; twice is an error. Being named as a child or parent is none.
  [[nodiscard]] Result<SwitchId> declare(std::string_view name, const Place& place);
  /// The switch with that name, made when new: files name children before they describe them.
  [[nodiscard]] Result<SwitchId> mention(std::string_view name, const Place& place);
  /// A second parent is an error; naming the same parent again is not.
  [[nodiscard]] Status set_parent(SwitchId child, SwitchId parent, const Place& place);
  /// A second leaf is an error, and so is the same host twice.
  [[nodiscard]] Status add_host(std::string_view name, SwitchId leaf, const Place& place);
  /// The same for all names of a host list expression.
  [[nodiscard]] Status add_hosts(std::string_view expression, SwitchId leaf, const Place& place);
  /// A host below domains named by their path, outermost first. Domains are told apart by the whole path, so
  /// that "rack1" may exist in several zones; see finish(). An empty path is an unknown domain.
  [[nodiscard]] Status add_host_below(std::string_view name, std::span<const std::string> path,
                                      const Place& place);
  void set_state(HostState state) { hosts_.back().state = state; }  ///< of the host added last
  void remark(std::string line) { remarks_.push_back(std::move(line)); }

  [[nodiscard]] bool has_host(std::string_view name) const { return host_ids_.contains(name); }
  [[nodiscard]] std::size_t host_count() const noexcept { return hosts_.size(); }
  /// Switches that were mentioned, never declared.
  [[nodiscard]] Status require_declared() const;
  [[nodiscard]] Error error(const Place& place, std::string_view what) const;
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

  /// Names path domains by their last word where that is unique, else by the path; deals with hosts of
  /// unknown domain; sorts and checks the rest.
  [[nodiscard]] Result<TopologyFile> finish(UnknownDomain unknown) &&;

 private:
  [[nodiscard]] Status check_name(std::string_view name, std::string_view kind, const Place& place) const;
  void shorten_path_names();
  [[nodiscard]] Status check_acyclic() const;
  [[nodiscard]] Status settle_unknown(UnknownDomain unknown, TopologyFile& file);

  struct Known {
    SwitchId id = kNoSwitch;
    Place place;  ///< of the description once there is one, else of the first mention
    bool declared = false;
  };
  std::string where_;
  std::vector<Switch> switches_;
  std::vector<Host> hosts_;
  NameMap<Known> switch_ids_;
  NameMap<std::size_t> host_ids_;  ///< line of the first mention
  std::vector<bool> from_path_;    ///< switches made by add_host_below
  std::vector<std::string> remarks_;
};

/// A name that is safe in shells, YAML and host files: letters, digits, '.', '_', '-', ':'.
[[nodiscard]] bool is_host_name(std::string_view name) noexcept;

}  // namespace rudder::place

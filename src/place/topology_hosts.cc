// SPDX-License-Identifier: Apache-2.0
// Plain host lists: "HOSTS [SWITCH/SWITCH/...]" a line, "#" starts a comment.
#include <fmt/format.h>

#include "rudder/place/hostlist.h"

#include "place/topology_readers.h"

namespace rudder::place {
namespace {

std::vector<std::string> split_path(std::string_view text) {
  std::vector<std::string> path;
  while (!text.empty()) {
    const std::size_t slash = text.find('/');
    path.emplace_back(text.substr(0, slash));
    text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
  }
  return path;
}

struct HostLine {
  std::string_view hosts;
  std::string_view path;
  Place place;
};

}  // namespace

Status read_host_list(std::string_view text, const TopologyFileOptions&, TopologyBuilder& builder) {
  std::vector<HostLine> parsed;
  bool any_path = false;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = line.substr(0, line.find('#'));
    HostLine entry;
    entry.place.line = lines.number();
    entry.hosts = take_word(line);
    entry.path = take_word(line);
    if (!line.empty()) {
      return builder.error(entry.place,
                           fmt::format("expected HOSTS [SWITCH/SWITCH]: '{}'", line.substr(0, 80)));
    }
    if (!entry.hosts.empty()) {
      any_path = any_path || !entry.path.empty();
      parsed.push_back(entry);
    }
  }
  if (!any_path && !parsed.empty()) {
    builder.remark("no line names a switch: all hosts are taken as one domain");
  }
  for (const HostLine& entry : parsed) {
    Result<std::vector<std::string>> names = expand_hostlist(entry.hosts, kMaxHosts);
    if (!names) {
      return builder.error(entry.place, names.error().message);
    }
    const std::vector<std::string> path =
        any_path ? split_path(entry.path) : std::vector<std::string>{"cluster"};
    for (const std::string& name : *names) {
      RUDDER_TRY(builder.add_host_below(name, path, entry.place));
    }
  }
  return {};
}

}  // namespace rudder::place

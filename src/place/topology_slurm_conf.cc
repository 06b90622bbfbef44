// SPDX-License-Identifier: Apache-2.0
// Slurm's topology.conf, https://slurm.schedmd.com/topology.conf.html: lines of Keyword=value pairs, keywords
// in any case, "\" at the end continues a line, "#" starts a comment.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/place/hostlist.h"

#include "place/topology_readers.h"

namespace rudder::place {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

struct Pair {
  std::string key;  ///< lower case
  std::string value;
};

/// "Key=value" from the front of a line; values may be quoted.
Result<Pair> take_pair(std::string_view& line, const Place& place, const TopologyBuilder& builder) {
  const std::size_t equals = line.find('=');
  const std::string_view key = trim(line.substr(0, equals));
  if (equals == std::string_view::npos || key.empty() || key.find_first_of(" \t") != std::string_view::npos) {
    return builder.error(place, fmt::format("expected Keyword=value: '{}'", line.substr(0, 80)));
  }
  line = trim(line.substr(equals + 1));
  if (line.starts_with('"')) {
    const std::size_t close = line.find('"', 1);
    if (close == std::string_view::npos) {
      return builder.error(place, fmt::format("a quote is not closed: '{}'", line.substr(0, 80)));
    }
    Pair pair{lower(key), std::string(line.substr(1, close - 1))};
    line = trim(line.substr(close + 1));
    return pair;
  }
  return Pair{lower(key), std::string(take_word(line))};
}

/// What one logical line says.
struct Statement {
  std::string switch_name;
  std::string switches;
  std::string nodes;
  std::string block_name;
  std::string block_sizes;
};

Result<Statement> parse_statement(std::string_view line, const Place& place, const TopologyBuilder& builder) {
  Statement statement;
  struct Keyword {
    std::string_view name;
    std::string Statement::*field;
  };
  constexpr std::array<Keyword, 5> kKeywords = {{{"switchname", &Statement::switch_name},
                                                 {"switches", &Statement::switches},
                                                 {"nodes", &Statement::nodes},
                                                 {"blockname", &Statement::block_name},
                                                 {"blocksizes", &Statement::block_sizes}}};
  while (!line.empty()) {
    RUDDER_ASSIGN(Pair pair, take_pair(line, place, builder));
    if (pair.key == "linkspeed") {  // documented as ignored by Slurm itself
      continue;
    }
    const auto keyword = std::find_if(kKeywords.begin(), kKeywords.end(),
                                      [&](const Keyword& known) { return known.name == pair.key; });
    if (keyword == kKeywords.end()) {
      return builder.error(place, fmt::format("unknown keyword '{}'", pair.key.substr(0, 80)));
    }
    std::string& field = statement.*(keyword->field);
    if (!field.empty() || pair.value.empty()) {
      return builder.error(
          place, fmt::format("keyword '{}' {}", pair.key, field.empty() ? "has no value" : "occurs twice"));
    }
    field = std::move(pair.value);
  }
  return statement;
}

class ConfReader {
 public:
  explicit ConfReader(TopologyBuilder& builder) : builder_(builder) {}

  Status read(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    std::string logical;
    Place place;
    while (lines.next(line)) {
      line = trim(line.substr(0, line.find('#')));
      if (logical.empty()) {
        place.line = lines.number();
      }
      const bool continued = line.ends_with('\\');
      logical += line.substr(0, line.size() - (continued ? 1 : 0));
      if (continued) {
        logical += ' ';
        continue;
      }
      RUDDER_TRY(statement(trim(logical), place));
      logical.clear();
    }
    RUDDER_TRY(statement(trim(logical), place));
    RUDDER_TRY(aggregate_blocks(blocks_, sizes_, sizes_place_, builder_));
    return builder_.require_declared();
  }

 private:
  Status statement(std::string_view line, const Place& place) {
    if (line.empty()) {
      return {};
    }
    if (lower(line.substr(0, 8)) == "include ") {
      return builder_.error(place, "Include is not followed; give the included file");
    }
    RUDDER_ASSIGN(const Statement s, parse_statement(line, place, builder_));
    const bool is_switch = !s.switch_name.empty();
    const bool is_block = !s.block_name.empty();
    const bool is_sizes = !s.block_sizes.empty();
    if (is_switch + is_block + is_sizes != 1 || (is_switch && s.nodes.empty() && s.switches.empty()) ||
        (!is_switch && !s.switches.empty()) || (is_block && s.nodes.empty()) ||
        (is_sizes && !s.nodes.empty())) {
      return builder_.error(
          place, "expected SwitchName= with Switches= or Nodes=, BlockName= with Nodes=, or BlockSizes=");
    }
    seen_switch_ = seen_switch_ || is_switch;
    seen_block_ = seen_block_ || !is_switch;
    if (seen_switch_ && seen_block_) {
      return builder_.error(place, "switches and blocks in one file");
    }
    return is_sizes ? read_sizes(s.block_sizes, place) : read_switch(s, is_block, place);
  }

  Status read_switch(const Statement& s, bool is_block, const Place& place) {
    const std::string& name = is_block ? s.block_name : s.switch_name;
    RUDDER_ASSIGN(const SwitchId id, builder_.declare(name, place));
    if (is_block) {
      blocks_.emplace_back(name, id);
    }
    if (!s.switches.empty()) {
      Result<std::vector<std::string>> children = expand_hostlist(s.switches, kMaxHosts);
      if (!children) {
        return builder_.error(place, children.error().message);
      }
      for (const std::string& child : *children) {
        RUDDER_ASSIGN(const SwitchId below, builder_.mention(child, place));
        RUDDER_TRY(builder_.set_parent(below, id, place));
      }
    }
    return s.nodes.empty() ? Status() : builder_.add_hosts(s.nodes, id, place);
  }

  Status read_sizes(std::string_view text, const Place& place) {
    if (!sizes_.empty()) {
      return builder_.error(place, "BlockSizes= occurs twice");
    }
    sizes_place_ = place;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      const auto size = parse_int(text.substr(at, comma - at));
      if (!size) {
        return builder_.error(place,
                              fmt::format("BlockSizes= is no list of numbers: '{}'", text.substr(0, 80)));
      }
      sizes_.push_back(*size);
      at = comma + 1;
    }
    return {};
  }

  TopologyBuilder& builder_;
  std::vector<std::pair<std::string, SwitchId>> blocks_;
  std::vector<std::int64_t> sizes_;
  Place sizes_place_;
  bool seen_switch_ = false;
  bool seen_block_ = false;
};

}  // namespace

Status aggregate_blocks(const std::vector<std::pair<std::string, SwitchId>>& blocks,
                        const std::vector<std::int64_t>& sizes, const Place& place,
                        TopologyBuilder& builder) {
  std::vector<std::pair<std::string, SwitchId>> below = blocks;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const std::int64_t factor = sizes[0] > 0 ? sizes[k] / sizes[0] : 0;
    if (factor < 1 || factor * sizes[0] != sizes[k] || (factor & (factor - 1)) != 0 ||
        (k > 0 && sizes[k] <= sizes[k - 1])) {
      return builder.error(place,
                           fmt::format("block size {}: sizes are positive and grow by powers of two from "
                                       "the first",
                                       sizes[k]));
    }
    if (k == 0) {
      continue;
    }
    const auto group = static_cast<std::size_t>(sizes[k] / sizes[k - 1]);
    std::vector<std::pair<std::string, SwitchId>> above;
    for (std::size_t first = 0; first < below.size(); first += std::min(group, below.size())) {
      const std::size_t last = std::min(below.size() - first, group) + first - 1;
      const std::string& from = below[first].first;
      const std::string& to = below[last].first;
      std::string name = from.substr(0, from.find("..")) + ".." +
                         to.substr(to.find("..") == std::string::npos ? 0 : to.find("..") + 2);
      if (k > 1 && first == last) {
        name += fmt::format(" ({})", sizes[k]);  // a lone remainder keeps its range: tell the levels apart
      }
      RUDDER_ASSIGN(const SwitchId id, builder.declare(name, place));
      for (std::size_t i = first; i <= last; ++i) {
        RUDDER_TRY(builder.set_parent(below[i].second, id, place));
      }
      above.emplace_back(std::move(name), id);
    }
    below = std::move(above);
  }
  return {};
}

Status read_slurm_conf(std::string_view text, const TopologyFileOptions&, TopologyBuilder& builder) {
  return ConfReader(builder).read(text);
}

}  // namespace rudder::place

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/text.h"
#include "rudder/place/plan.h"

#include "place/json_document.h"
#include "place/topology_builder.h"
#include "place/topology_readers.h"

namespace rudder::place {
namespace {

using Json = nlohmann::ordered_json;
using nlohmann::json;

constexpr std::int64_t kMaxRanks = std::int64_t{1} << 28;

/// Reads members of one object and remembers the first fault.
class Fields {
 public:
  Fields(const json& object, std::string place) : object_(object), place_(std::move(place)) {}

  template <class Integer>
  void integer(std::string_view key, Integer& target, std::int64_t high) {
    const json* value = member(object_, key);
    if (value == nullptr || !value->is_number_integer() || value->get<std::int64_t>() < 0 ||
        value->get<std::int64_t>() > high) {
      fail(fmt::format("'{}' must be a whole number from 0 to {}", key, high));
      return;
    }
    target = static_cast<Integer>(value->get<std::int64_t>());
  }
  void real(std::string_view key, double& target) {
    const json* value = member(object_, key);
    if (value == nullptr || !value->is_number() || !std::isfinite(value->get<double>())) {
      fail(fmt::format("'{}' must be a number", key));
      return;
    }
    target = value->get<double>();
  }
  void text(std::string_view key, std::string& target) {
    const json* value = member(object_, key);
    if (value != nullptr && value->is_number_integer()) {  // minipods without names are numbers
      target = value->dump();
      return;
    }
    if (value == nullptr || !value->is_string()) {
      fail(fmt::format("'{}' must be a text", key));
      return;
    }
    target = value->get<std::string>();
  }
  [[nodiscard]] bool has(std::string_view key) const { return member(object_, key) != nullptr; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  void fail(const std::string& what) {
    if (problem_.empty()) {
      problem_ = place_.empty() ? what : place_ + ": " + what;
    }
  }
  const json& object_;
  std::string place_;
  std::string problem_;
};

Error at(const std::string& where, std::string_view what) {
  return {Errc::kInvalidData, fmt::format("{}: {}", where, what)};
}

Status parse_head(const std::string& where, const json& document, Plan& plan) {
  constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
  Fields head(document, {});
  std::string order;
  head.text("job", plan.job);
  head.integer("g", plan.shape.gpus_per_node, kMaxSize);
  head.integer("tp", plan.shape.tp, kMaxSize);
  head.integer("pp", plan.shape.pp, kMaxSize);
  head.integer("dp", plan.shape.dp, kMaxSize);
  if (head.has("cp")) {
    head.integer("cp", plan.shape.cp, kMaxSize);
  }
  head.text("order", order);
  head.real("alpha", plan.alpha);
  head.integer("S", plan.spread.S, kMaxSize);
  head.integer("Q", plan.spread.Q, kMaxSize);
  head.real("J", plan.J);
  head.real("J_lb", plan.J_lb);
  if (!head.problem().empty()) {
    return at(where, head.problem());
  }
  const Result<RankOrder> parsed = rank_order_from_name(order);
  if (!parsed) {
    return at(where, parsed.error().message);
  }
  plan.order = *parsed;
  return {};
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json head = {{"job", plan.job},     {"g", plan.shape.gpus_per_node},
               {"tp", plan.shape.tp}, {"pp", plan.shape.pp},
               {"dp", plan.shape.dp}, {"order", name_of(plan.order)},
               {"alpha", plan.alpha}, {"S", plan.spread.S},
               {"Q", plan.spread.Q},  {"J", plan.J},
               {"J_lb", plan.J_lb}};
  if (plan.shape.cp != 1) {
    head["cp"] = plan.shape.cp;
  }
  std::string text = head.dump();
  text.pop_back();
  text += ",\"nodes\":[";
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlannedNode& node = plan.nodes[i];
    const Json line = {{"rank0", node.rank0}, {"row", node.row},         {"stage", node.stage},
                       {"host", node.host},   {"minipod", node.minipod}, {"leaf", node.leaf}};
    text += (i == 0 ? "\n" : ",\n") + line.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text + "\n]}\n";
}

Result<Plan> parse_plan(const std::string& where, std::string_view text) {
  RUDDER_ASSIGN(const json document, parse_json(where, text));
  Plan plan;
  RUDDER_TRY(parse_head(where, document, plan));
  const json* nodes = member(document, "nodes");
  if (nodes == nullptr || !nodes->is_array()) {
    return at(where, "'nodes' must be a list");
  }
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    Fields fields((*nodes)[i], fmt::format("nodes[{}]", i));
    PlannedNode node;
    fields.integer("rank0", node.rank0, kMaxRanks);
    fields.integer("row", node.row, kMaxRanks);
    fields.integer("stage", node.stage, kMaxRanks);
    fields.text("host", node.host);
    fields.text("minipod", node.minipod);
    fields.text("leaf", node.leaf);
    if (!fields.problem().empty()) {
      return at(where, fields.problem());
    }
    plan.nodes.push_back(std::move(node));
  }
  if (const Status valid = validate(plan); !valid) {
    return valid.error().in(where);
  }
  return plan;
}

Result<Plan> read_plan(const std::filesystem::path& path) {
  RUDDER_ASSIGN(const std::string text, read_text(path, kMaxFileBytes));
  return parse_plan(path.string(), text);
}

Result<std::vector<std::string>> parse_host_file(const std::string& where, std::string_view text) {
  std::vector<std::string> hosts;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) {
      continue;
    }
    if (!is_host_name(line)) {
      return at(where, fmt::format("line {}: no host name: '{}'", lines.number(), line.substr(0, 80)));
    }
    hosts.emplace_back(line);
  }
  return hosts;
}

Result<std::vector<std::string>> parse_rankfile(const std::string& where, std::string_view text) {
  std::vector<std::string> hosts;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    std::string_view rest = trim(line.substr(0, line.find('#')));
    if (rest.empty()) {
      continue;
    }
    const auto fail = [&](std::string_view what) {
      return at(where, fmt::format("line {}: {}: '{}'", lines.number(), what, trim(line).substr(0, 80)));
    };
    const std::string_view keyword = take_word(rest);
    const std::string_view assignment = take_word(rest);
    const std::size_t equals = assignment.find('=');
    const auto rank = parse_int(assignment.substr(0, equals));
    if (keyword != "rank" || equals == std::string_view::npos || !rank || !rest.starts_with("slot")) {
      return fail("expected rank N=HOST slot=...");
    }
    const std::string_view host = assignment.substr(equals + 1);
    if (*rank < 0 || *rank >= kMaxRanks || !is_host_name(host)) {
      return fail("no rank or no host name");
    }
    const auto slot = static_cast<std::size_t>(*rank);
    if (slot >= hosts.size()) {
      // Ranks come in any order but without gaps, so the list is at most as long as the file has lines.
      if (slot > text.size() / 8) {
        return fail("a rank beyond the number of lines");
      }
      hosts.resize(slot + 1);
    }
    if (!hosts[slot].empty()) {
      return fail("a rank twice");
    }
    hosts[slot] = host;
  }
  if (const auto missing = std::find(hosts.begin(), hosts.end(), std::string()); missing != hosts.end()) {
    return at(where, fmt::format("rank {} is missing", missing - hosts.begin()));
  }
  return hosts;
}

}  // namespace rudder::place

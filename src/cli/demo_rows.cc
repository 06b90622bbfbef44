// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/cache/policy.h"
#include "rudder/core/files.h"
#include "rudder/train/options.h"

namespace rudder::cli {
namespace {

constexpr Duration kAgentStarts = std::chrono::minutes(2);
constexpr std::string_view kReady = "agent: ready at ";

/// A name that a folder can have.
std::string folder_of(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
  return text;
}

report::DemoDecision decision_of(const Json& line) {
  report::DemoDecision decision;
  line.at("step").get_to(decision.step);
  line.at("time").get_to(decision.time);
  line.at("verdict").get_to(decision.verdict);
  line.at("held").get_to(decision.held);
  line.at("applied").get_to(decision.applied);
  line.at("hit_rate").get_to(decision.hit_rate);
  line.at("stall_share").get_to(decision.stall_share);
  line.at("link_bytes_per_second").get_to(decision.link_bytes_per_second);
  if (line.contains("decision")) {
    const Json& made = line.at("decision");
    decision.action = made.at("action").is_null() ? "" : made.at("action").get<std::string>();
    made.at("reason").get_to(decision.reason);
  }
  return decision;
}

Result<report::DemoSteering> read_steering(const train::SteeringResult& steering,
                                           const std::filesystem::path& run) {
  report::DemoSteering told;
  told.decider = steering.agent;
  told.window = steering.window;
  told.windows = steering.windows;
  told.dropped_windows = steering.dropped;
  told.decisions = steering.decisions;
  told.applied = steering.applied;
  told.rejected = steering.rejected;
  told.no_answers = steering.no_answers;
  told.changes = steering.changes;
  told.model_calls = steering.model_calls;
  told.valid_replies = steering.valid_replies;
  told.staleness = steering.decisions == 0 ? 0
                                           : static_cast<double>(steering.staleness_windows) /
                                                 static_cast<double>(steering.decisions);
  told.latency_p50 = steering.latency_p50;
  told.latency_p95 = steering.latency_p95;
  told.mismatches = steering.mismatches;
  const std::filesystem::path log = run / "decisions.jsonl";
  RUDDER_ASSIGN(const std::string text, read_text(log));
  std::size_t number = 1;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1, ++number) {
    try {
      told.log.push_back(decision_of(Json::parse(text.substr(begin, end - begin))));
    } catch (const Json::exception& error) {
      return Error{Errc::kInvalidData, fmt::format("{}, line {}: {}", log.string(), number, error.what())};
    }
  }
  return told;
}

/// Means over all epochs but the first, which also fills caches and pools; over all when there is one, or
/// when `all` of them count.
void fill_times(const std::vector<train::EpochResult>& epochs, bool all, report::DemoRow& row) {
  const std::size_t first = epochs.size() > 1 && !all ? 1 : 0;
  const auto count = static_cast<double>(epochs.size() - first);
  for (std::size_t i = first; i < epochs.size(); ++i) {
    row.epoch_seconds += epochs[i].seconds / count;
    row.compute_seconds += epochs[i].compute_seconds / count;
    row.all_reduce_seconds += epochs[i].all_reduce_seconds / count;
    row.stall_seconds += epochs[i].stall_seconds / count;
  }
}

Json steering_json(const report::DemoSteering& steering) {
  return {{"decider", steering.decider},
          {"model", steering.model.empty() ? Json() : Json(steering.model)},
          {"windows", steering.windows},
          {"dropped_windows", steering.dropped_windows},
          {"decisions", steering.decisions},
          {"applied", steering.applied},
          {"rejected", steering.rejected},
          {"no_answers", steering.no_answers},
          {"changes", steering.changes},
          {"valid_rate", steering.model_calls == 0 ? Json()
                                                   : Json(static_cast<double>(steering.valid_replies) /
                                                          static_cast<double>(steering.model_calls))},
          {"staleness_windows", steering.staleness},
          {"latency_p50", steering.latency_p50},
          {"latency_p95", steering.latency_p95}};
}

}  // namespace

Result<DemoEntry> parse_demo_entry(const std::string& text) {
  const std::size_t plus = text.find('+');
  DemoEntry entry;
  entry.policy = text.substr(0, plus);
  RUDDER_ASSIGN(const cache::PolicyInfo* const info, cache::find_policy(entry.policy));
  if (!info->live) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("policy '{}' needs the whole trace, so it cannot run live; see rudder trace replay",
                    entry.policy)};
  }
  entry.label = entry.policy;
  entry.folder = folder_of(text);
  if (plus != std::string::npos) {
    const std::string who = text.substr(plus + 1);
    entry.label += " + " + who;
    entry.asks_agent = who == "agent";
    entry.decider = entry.asks_agent          ? "llm"
                    : who != "fixed"          ? who
                    : entry.policy == "score" ? "fixed:1"
                                              : "never";
  }
  return entry;
}

std::vector<std::string> steering_arguments(const DemoEntry& entry, const std::filesystem::path& run,
                                            const std::filesystem::path& agent_socket) {
  if (entry.decider.empty()) {
    return {};
  }
  std::vector<std::string> arguments = {
      "--agent=" + entry.decider,  fmt::format("--steer-window={}", kDemoWindow),
      "--steer-priority=usual",    "--agent-timeout=20",
      "--prompt-demonstrations=3", "--memory=" + (run / "memory.db").string()};
  arguments.emplace_back(entry.policy == "score" ? "--actions=replace" : "--actions=knobs");
  if (entry.asks_agent) {
    arguments.push_back("--agent-socket=" + agent_socket.string());
  }
  return arguments;
}

Result<DemoAgent> DemoAgent::start(const std::string& executable, const std::filesystem::path& socket) {
  DemoAgent agent;
  launch::Command command;
  command.name = "rudder agent";
  command.arguments = {executable, "agent", "--warm-up", "--socket", socket.string()};
  RUDDER_ASSIGN(agent.process_, launch::Companion::start(
                                    std::move(command),
                                    [&](std::string_view line) {
                                      if (!line.starts_with(kReady)) {
                                        return false;
                                      }
                                      const std::size_t colon = line.find(": ", kReady.size());
                                      agent.model_ =
                                          colon == std::string_view::npos ? line : line.substr(colon + 2);
                                      return true;
                                    },
                                    kAgentStarts));
  return agent;
}

Result<report::DemoRow> make_demo_row(const DemoEntry& entry, const ClusterRun& finished,
                                      const std::filesystem::path& run) {
  report::DemoRow row;
  row.policy = entry.label;
  fill_times(finished.result.epochs, entry.shrinks, row);
  for (const train::EpochResult& epoch : finished.result.epochs) {
    row.requests += epoch.requests;
    row.hits += epoch.hits;
    row.fetched += epoch.fetched;
    row.payload_bytes += epoch.payload_bytes;
    row.wire_bytes += epoch.wire_bytes;
  }
  row.link_bytes = finished.link_bytes;
  row.val_accuracy = finished.result.val_accuracy;
  row.test_accuracy = finished.result.test_accuracy;
  row.loss_digest = finished.result.loss_digest;
  row.step_losses = finished.result.step_losses;
  row.step_hit_rates = finished.result.step_hit_rates;
  if (finished.result.steering) {
    RUDDER_ASSIGN(row.steering, read_steering(*finished.result.steering, run));
  }
  return row;
}

Json demo_rows_json(const std::vector<report::DemoRow>& rows) {
  Json list = Json::array();
  for (const report::DemoRow& row : rows) {
    list.push_back({{"policy", row.policy},
                    {"epoch_seconds", row.epoch_seconds},
                    {"stall_share", row.stall_seconds / row.epoch_seconds},
                    {"fetched", row.fetched},
                    {"hits", row.hits},
                    {"requests", row.requests},
                    {"wire_bytes", row.wire_bytes},
                    {"test_accuracy", row.test_accuracy},
                    {"loss_digest", row.loss_digest},
                    {"speedup_vs_none", row.speedup_vs_none}});
    if (row.steering) {
      list.back()["agent"] = steering_json(*row.steering);
    }
  }
  return list;
}

}  // namespace rudder::cli

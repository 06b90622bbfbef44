// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/chat_export.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "rudder/steer/asking.h"

namespace rudder::steer {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// The window right behind, when it is in the list.
const Experience* next_of(std::span<const Experience> run, std::size_t window) {
  const bool follows = window + 1 < run.size() && run[window + 1].sequence == run[window].sequence + 1;
  return follows ? &run[window + 1] : nullptr;
}

/// What the best action brought, where it is the one that held.
std::optional<Expected> effect_of_best(std::span<const Experience> run, std::size_t window,
                                       const ActionSet& actions) {
  const Experience* const next = next_of(run, window);
  const bool seen = next != nullptr && next->report.action == actions.actions[run[window].best].name;
  return seen ? run[window].observed : std::nullopt;
}

/// Of the best action's cost, how much more the next best one costs.
double benefit_of(const Experience& window) {
  const double least = window.costs[window.best];
  double next = -1;
  for (std::size_t action = 0; action < window.costs.size(); ++action) {
    if (action != window.best && (next < 0 || window.costs[action] < next)) {
      next = window.costs[action];
    }
  }
  return least > 0 ? next / least - 1 : 0;
}

}  // namespace

std::vector<Episode> history_of(std::span<const Experience> experiences, std::size_t window,
                                const ActionSet& actions) {
  std::vector<Episode> history;
  for (std::size_t i = window; i-- > 0 && history.size() < kShownEpisodes;) {
    const Experience& before = experiences[i];
    if (before.sequence >= experiences[i + 1].sequence) {
      break;  // of another pass of the same run
    }
    const Experience* const next = next_of(experiences, i);
    if (next == nullptr || !before.decision || !before.observed ||
        before.decision->action >= actions.actions.size()) {
      continue;
    }
    const std::string& decided = actions.actions[before.decision->action].name;
    if (next->report.action == decided) {
      history.push_back({decided, *before.observed});
    }
  }
  std::reverse(history.begin(), history.end());
  return history;
}

Result<ChatExport> export_chats(std::span<const Experience> experiences, std::span<const Experience> shown,
                                const ActionSet& actions, const ChatExportOptions& options) {
  RUDDER_ASSIGN(const std::unique_ptr<Memory> memory,
                Memory::open({}, std::max<std::size_t>(1, shown.size())));
  for (const Experience& each : shown) {
    RUDDER_TRY(memory->add(each));
  }
  std::map<std::string, std::vector<std::size_t>> runs;  // positions, in order
  for (std::size_t i = 0; i < experiences.size(); ++i) {
    runs[experiences[i].run].push_back(i);
  }
  ChatExport result;
  for (const auto& [name, positions] : runs) {
    std::vector<Experience> run;
    for (const std::size_t position : positions) {
      run.push_back(experiences[position]);
    }
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (benefit_of(run[i]) < options.least_benefit) {
        ++result.too_little_benefit;
        continue;
      }
      const std::optional<Expected> expected = effect_of_best(run, i, actions);
      if (!expected && !options.unseen_effects) {
        ++result.unseen_effects;
        continue;
      }
      RUDDER_ASSIGN(const std::vector<Experience> nearest,
                    demonstrations_for(*memory, actions, run[i].features, options.demonstrations, name));
      RUDDER_ASSIGN(
          std::vector<llm::Message> messages,
          make_example(actions, nearest, history_of(run, i, actions), run[i], expected, options.prompt));
      result.examples.push_back({positions[i], std::move(messages), expected.has_value()});
    }
  }
  std::sort(result.examples.begin(), result.examples.end(),
            [](const ChatExample& a, const ChatExample& b) { return a.window < b.window; });
  return result;
}

std::string json_of(const ChatExample& example, const Experience* window, const ActionSet& actions) {
  OrderedJson json = {{"messages", OrderedJson::array()}};
  for (const llm::Message& message : example.messages) {
    json["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  if (window != nullptr) {
    OrderedJson costs = OrderedJson::object();
    for (std::size_t action = 0; action < window->costs.size(); ++action) {
      costs[actions.actions[action].name] = window->costs[action];
    }
    json["metadata"] = {{"run", window->run},
                        {"graph", window->graph},
                        {"sequence", window->sequence},
                        {"action", actions.actions[window->best].name},
                        {"costs", std::move(costs)}};
  }
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/prompt.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/check.h"
#include "rudder/core/text.h"

#include "steer/prompt_text.h"

namespace rudder::steer {
namespace {

/// Of an event and of what is said of owners; longer ones are cut.
constexpr std::size_t kMaxLineBytes = 160;

Result<const PromptText*> text_of_language(const std::string& language) {
  for (const PromptText* text : {&prompt_en(), &prompt_zh()}) {
    if (text->language == language) {
      return text;
    }
  }
  return Error{Errc::kInvalidArgument,
               fmt::format("no prompts in language '{}'; there are en and zh", language)};
}

std::string system_message(const ActionSet& actions, const PromptText& text, bool reasoning) {
  std::string message = fmt::format("{}\n{}\n", text.role, text.actions);
  for (std::size_t i = 0; i < actions.actions.size(); ++i) {
    const Action& action = actions.actions[i];
    const auto help = std::find_if(text.helps.begin(), text.helps.end(),
                                   [&](const PromptText::Help& each) { return each.action == action.name; });
    message += fmt::format("{} {}{}{}\n", i, action.name, text.colon,
                           help == text.helps.end() ? std::string_view(action.help) : help->help);
  }
  message += fmt::format("{}\n{}", text.figures, text.form);
  return reasoning ? fmt::format("{}\n{}", message, text.thought) : message;
}

/// Places of figures: metrics, then the action that held.
constexpr std::size_t kHeldAction = kMetrics;
constexpr std::size_t kFigures = kMetrics + 1;

std::size_t value_of(const Report& report, std::size_t figure, const ActionSet& actions) {
  return figure == kHeldAction ? actions.find(report.action)
                               : static_cast<std::size_t>(report.levels[figure]);
}

/// How many demonstrations would be told right by that figure alone, each of its values standing for the
/// action that was best most often.
std::size_t told_by(std::size_t figure, const ActionSet& actions,
                    std::span<const Experience> demonstrations) {
  std::array<std::array<std::size_t, kMaxActions>, kMaxActions + 1> votes{};
  for (const Experience& each : demonstrations) {
    ++votes[value_of(each.report, figure, actions)][each.best];
  }
  std::size_t told = 0;
  for (const auto& of_value : votes) {
    told += *std::max_element(of_value.begin(), of_value.end());
  }
  return told;
}

/// At most `limit` figures, in order: those that differ between the lines shown, first by what they tell of
/// the best action, then those that aren't medium in the window, then those that changed. All of them without
/// demonstrations.
std::vector<std::size_t> telling_figures(const ActionSet& actions, std::span<const Experience> demonstrations,
                                         const Report& report, std::size_t limit) {
  std::vector<std::size_t> figures(kFigures);
  std::iota(figures.begin(), figures.end(), std::size_t{0});
  if (demonstrations.empty()) {
    return figures;
  }
  struct Rank {
    bool differs, extreme, changed;
    std::size_t told;
    [[nodiscard]] auto order() const { return std::tie(differs, told, extreme, changed); }
  };
  std::array<Rank, kFigures> ranks{};
  for (std::size_t figure = 0; figure < kFigures; ++figure) {
    const std::size_t now = value_of(report, figure, actions);
    ranks[figure].differs =
        std::any_of(demonstrations.begin(), demonstrations.end(),
                    [&](const Experience& each) { return value_of(each.report, figure, actions) != now; });
    ranks[figure].told = told_by(figure, actions, demonstrations);
    ranks[figure].extreme = figure != kHeldAction && report.levels[figure] != Level::kMedium;
    ranks[figure].changed = figure != kHeldAction && report.changed[figure];
  }
  std::stable_sort(figures.begin(), figures.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a].order() > ranks[b].order(); });
  const auto differing = static_cast<std::size_t>(
      std::count_if(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.differs; }));
  figures.resize(std::max<std::size_t>(1, std::min(limit, differing)));
  std::sort(figures.begin(), figures.end());
  return figures;
}

/// "hits low falling, stall high". What changed is said unless all did: then there was no report before.
std::string window_line(const Report& report, const std::vector<std::size_t>& figures,
                        const PromptText& text) {
  const bool compares =
      !std::all_of(report.changed.begin(), report.changed.end(), [](bool each) { return each; });
  std::string line;
  for (const std::size_t figure : figures) {
    line += line.empty() ? std::string_view() : text.comma;
    if (figure == kHeldAction) {
      line += fmt::format("{} {}", text.held, one_line(report.action, kMaxLineBytes));
      continue;
    }
    const auto level = static_cast<std::size_t>(report.levels[figure]);
    line += fmt::format("{} {}", text.metrics[figure], text.levels[level]);
    if (compares && report.changed[figure]) {
      const std::array<std::string_view, 3> trends = {text.falling, text.changed, text.rising};
      line += fmt::format(" {}", trends[level]);
    }
  }
  return line;
}

/// "skip x3 (hits same, traffic same); replace (hits up, traffic down)".
std::string history_line(std::span<const Episode> history, const PromptText& text) {
  std::string line;
  for (std::size_t i = 0; i < history.size();) {
    const Episode& episode = history[i];
    std::size_t times = 0;
    for (; i < history.size() && history[i] == episode; ++i) {
      ++times;
    }
    const auto word = [&](Direction direction) {
      return text.directions[static_cast<std::size_t>(direction)];
    };
    line += fmt::format("{}{}{} ({} {}{}{} {})", line.empty() ? "" : text.semicolon, episode.action,
                        times > 1 ? fmt::format(" x{}", times) : "", text.hits, word(episode.observed.hits),
                        text.comma, text.traffic, word(episode.observed.traffic));
  }
  return line;
}

/// How much of each thing is told.
struct Amounts {
  std::size_t history, demonstrations, events;
};

struct Told {
  const ActionSet& actions;
  std::span<const Experience> demonstrations;
  std::span<const Episode> history;
  const Report& report;
  std::vector<std::size_t> figures;
};

/// What happened, a line each; empty when nothing did.
std::string background(const Told& told, const Amounts& amounts, const PromptText& text) {
  std::vector<std::string> lines;
  if (amounts.history > 0) {
    lines.push_back(fmt::format("{}{}{}", text.history, text.colon,
                                history_line(told.history.last(amounts.history), text)));
  }
  if (!told.report.busiest_owner.empty()) {
    lines.push_back(
        fmt::format("{}{}{}", text.owners, text.colon, one_line(told.report.busiest_owner, kMaxLineBytes)));
  }
  for (const std::string& event : std::span(told.report.events).last(amounts.events)) {
    lines.push_back(fmt::format("{}{}\"{}\"", text.note, text.colon, one_line(event, kMaxLineBytes)));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::vector<llm::Message> chat(const std::string& system, const Told& told, const Amounts& amounts,
                               const PromptText& text) {
  std::vector<llm::Message> messages = {{"system", system}};
  if (std::string happened = background(told, amounts, text); !happened.empty()) {
    messages.push_back({"user", std::move(happened)});
    messages.push_back({"assistant", std::string(text.noted)});
  }
  const auto nearest = told.demonstrations.first(amounts.demonstrations);
  for (auto each = nearest.rbegin(); each != nearest.rend(); ++each) {
    messages.push_back({"user", window_line(each->report, told.figures, text)});
    messages.push_back(
        {"assistant", fmt::format(R"({{"decision": "{}"}})", told.actions.actions[each->best].name)});
  }
  messages.push_back({"user", window_line(told.report, told.figures, text)});
  return messages;
}

/// "hits low, stall high": those of the figures that are not medium, a few at most.
std::string reason_line(const Report& report, const std::vector<std::size_t>& figures,
                        const PromptText& text) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> parts;
  for (const std::size_t figure : figures) {
    if (figure != kHeldAction && report.levels[figure] != Level::kMedium && parts.size() < kMost) {
      parts.push_back(fmt::format("{} {}", text.metrics[figure],
                                  text.levels[static_cast<std::size_t>(report.levels[figure])]));
    }
  }
  return fmt::format("{}", fmt::join(parts, text.comma));
}

std::size_t bytes_of(const std::vector<llm::Message>& messages) {
  return std::accumulate(
      messages.begin(), messages.end(), std::size_t{0},
      [](std::size_t sum, const llm::Message& message) { return sum + message.content.size(); });
}

}  // namespace

Result<std::vector<llm::Message>> make_prompt(const ActionSet& actions,
                                              std::span<const Experience> demonstrations,
                                              std::span<const Episode> history, const Report& report,
                                              const PromptOptions& options) {
  RUDDER_ASSIGN(const PromptText* const text, text_of_language(options.language));
  for (const Experience& each : demonstrations) {
    RUDDER_CHECK(each.best < actions.actions.size(), "demonstrations are of the action set");
  }
  const std::string system = system_message(actions, *text, options.reasoning);
  const Told told = {actions, demonstrations, history, report,
                     telling_figures(actions, demonstrations, report, options.figures)};
  Amounts amounts = {history.size(), demonstrations.size(), report.events.size()};
  std::vector<llm::Message> messages = chat(system, told, amounts, *text);
  while (bytes_of(messages) > options.max_bytes) {
    std::size_t& goes = amounts.history > 0          ? amounts.history
                        : amounts.demonstrations > 0 ? amounts.demonstrations
                                                     : amounts.events;
    if (goes == 0) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("a prompt of {} bytes has no room for the rules and the window, which take {}",
                               options.max_bytes, bytes_of(messages))};
    }
    --goes;
    messages = chat(system, told, amounts, *text);
  }
  return messages;
}

Result<std::vector<llm::Message>> make_example(const ActionSet& actions,
                                               std::span<const Experience> demonstrations,
                                               std::span<const Episode> history, const Experience& window,
                                               const std::optional<Expected>& expected,
                                               const PromptOptions& options) {
  RUDDER_CHECK(window.best < actions.actions.size(), "a window is of the action set");
  RUDDER_ASSIGN(const PromptText* const text, text_of_language(options.language));
  RUDDER_ASSIGN(std::vector<llm::Message> messages,
                make_prompt(actions, demonstrations, history, window.report, options));
  std::string answer = fmt::format(
      R"({{"decision": "{}", "reason": "{}")", actions.actions[window.best].name,
      reason_line(window.report, telling_figures(actions, demonstrations, window.report, options.figures),
                  *text));
  if (expected) {
    answer += fmt::format(R"(, "expected": {{"hits": "{}", "traffic": "{}"}})", name_of(expected->hits),
                          name_of(expected->traffic));
  }
  messages.push_back({"assistant", answer + "}"});
  return messages;
}

}  // namespace rudder::steer

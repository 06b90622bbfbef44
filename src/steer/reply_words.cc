// SPDX-License-Identifier: Apache-2.0
#include "steer/reply_words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace rudder::steer {
namespace {

constexpr std::array<std::string_view, 38> kOrnaments = {
    " ", "\t", "\n", "\r", "\"", "'",  "`",  "*",  "_",  "-",  ".",  ",",     ";",
    ":", "!",  "?",  "(",  ")",  "[",  "]",  "#",  ">",  "|",  "“",  "”",     "‘",
    "’", "「", "」", "『", "』", "。", "，", "！", "：", "；", "、", "\u00A0"};

template <class T>
struct Word {
  std::string_view text;
  T meaning;
};

template <class T, std::size_t N>
std::optional<T> meaning_of(const std::array<Word<T>, N>& words, std::string_view text) {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const Word<T>& word) { return word.text == text; });
  return found == words.end() ? std::nullopt : std::optional<T>(found->meaning);
}

constexpr std::array<Word<ReplyKey>, 53> kKeys = {{
    {"decision", ReplyKey::kDecision},
    {"final-decision", ReplyKey::kDecision},
    {"决定", ReplyKey::kDecision},
    {"决策", ReplyKey::kDecision},
    {"最终决定", ReplyKey::kDecision},
    {"action", ReplyKey::kChoice},
    {"answer", ReplyKey::kChoice},
    {"choice", ReplyKey::kChoice},
    {"final-answer", ReplyKey::kChoice},
    {"selected-action", ReplyKey::kChoice},
    {"动作", ReplyKey::kChoice},
    {"操作", ReplyKey::kChoice},
    {"行动", ReplyKey::kChoice},
    {"选择", ReplyKey::kChoice},
    {"答案", ReplyKey::kChoice},
    {"回答", ReplyKey::kChoice},
    {"reason", ReplyKey::kReason},
    {"reasons", ReplyKey::kReason},
    {"reasoning", ReplyKey::kReason},
    {"explanation", ReplyKey::kReason},
    {"rationale", ReplyKey::kReason},
    {"why", ReplyKey::kReason},
    {"理由", ReplyKey::kReason},
    {"原因", ReplyKey::kReason},
    {"解释", ReplyKey::kReason},
    {"expected", ReplyKey::kExpected},
    {"expected-impact", ReplyKey::kExpected},
    {"expected-effect", ReplyKey::kExpected},
    {"impact", ReplyKey::kExpected},
    {"prediction", ReplyKey::kExpected},
    {"预期", ReplyKey::kExpected},
    {"预期影响", ReplyKey::kExpected},
    {"预测", ReplyKey::kExpected},
    {"hits", ReplyKey::kHits},
    {"hit-rate", ReplyKey::kHits},
    {"hitrate", ReplyKey::kHits},
    {"%-hits", ReplyKey::kHits},
    {"命中", ReplyKey::kHits},
    {"命中率", ReplyKey::kHits},
    {"traffic", ReplyKey::kTraffic},
    {"communication", ReplyKey::kTraffic},
    {"communication-volume", ReplyKey::kTraffic},
    {"流量", ReplyKey::kTraffic},
    {"通信", ReplyKey::kTraffic},
    {"通信量", ReplyKey::kTraffic},
    {"response", ReplyKey::kWrapper},
    {"output", ReplyKey::kWrapper},
    {"result", ReplyKey::kWrapper},
    {"reply", ReplyKey::kWrapper},
    {"json", ReplyKey::kWrapper},
    {"结果", ReplyKey::kWrapper},
    {"输出", ReplyKey::kWrapper},
    {"回复", ReplyKey::kWrapper},
}};

constexpr std::array<Word<Direction>, 41> kDirections = {{
    {"increase", Direction::kIncrease},  {"increases", Direction::kIncrease},
    {"increased", Direction::kIncrease}, {"increasing", Direction::kIncrease},
    {"up", Direction::kIncrease},        {"higher", Direction::kIncrease},
    {"rise", Direction::kIncrease},      {"rises", Direction::kIncrease},
    {"improve", Direction::kIncrease},   {"↑", Direction::kIncrease},
    {"增加", Direction::kIncrease},      {"上升", Direction::kIncrease},
    {"提高", Direction::kIncrease},      {"升高", Direction::kIncrease},
    {"decrease", Direction::kDecrease},  {"decreases", Direction::kDecrease},
    {"decreased", Direction::kDecrease}, {"decreasing", Direction::kDecrease},
    {"down", Direction::kDecrease},      {"lower", Direction::kDecrease},
    {"fall", Direction::kDecrease},      {"falls", Direction::kDecrease},
    {"drop", Direction::kDecrease},      {"reduce", Direction::kDecrease},
    {"↓", Direction::kDecrease},         {"减少", Direction::kDecrease},
    {"下降", Direction::kDecrease},      {"降低", Direction::kDecrease},
    {"stagnant", Direction::kStagnant},  {"same", Direction::kStagnant},
    {"stable", Direction::kStagnant},    {"steady", Direction::kStagnant},
    {"constant", Direction::kStagnant},  {"unchanged", Direction::kStagnant},
    {"no-change", Direction::kStagnant}, {"none", Direction::kStagnant},
    {"→", Direction::kStagnant},         {"不变", Direction::kStagnant},
    {"持平", Direction::kStagnant},      {"稳定", Direction::kStagnant},
    {"无变化", Direction::kStagnant},
}};

constexpr std::array<std::string_view, 6> kYes = {"yes", "y", "true", "是", "替换", "是的"};
constexpr std::array<std::string_view, 9> kNo = {"no",   "n",    "false",  "否",      "不",
                                                 "不是", "跳过", "不替换", "不要替换"};

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
  if (text.size() > kMaxWordBytes) {
    return text;
  }
  const auto trim = [](auto at_end, auto remove) {
    for (bool more = true; more;) {
      more = false;
      for (const std::string_view ornament : kOrnaments) {
        if (at_end(ornament)) {
          remove(ornament.size());
          more = true;
        }
      }
    }
  };
  trim([&](std::string_view o) { return text.starts_with(o); },
       [&](std::size_t n) { text.remove_prefix(n); });
  trim([&](std::string_view o) { return text.ends_with(o); }, [&](std::size_t n) { text.remove_suffix(n); });
  return text;
}

std::string folded(std::string_view text) {
  if (text.size() > kMaxWordBytes) {
    return {};
  }
  std::string word(trimmed(text));
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == ' ' || c == '_' ? '-' : c;
  });
  return word;
}

ReplyKey key_of(std::string_view key) {
  return meaning_of(kKeys, folded(key)).value_or(ReplyKey::kOther);
}

std::vector<Spelling> spellings_of(const ActionSet& actions) {
  std::vector<Spelling> spellings;
  const auto add = [&](std::string_view text, std::size_t action) {
    const bool taken = std::any_of(spellings.begin(), spellings.end(),
                                   [&](const Spelling& spelling) { return spelling.text == text; });
    if (!taken) {
      spellings.push_back({std::string(text), action});
    }
  };
  for (std::size_t i = 0; i < actions.actions.size(); ++i) {
    add(folded(actions.actions[i].name), i);
  }
  const std::size_t replace = actions.find("replace");
  const std::size_t skip = actions.find("skip");
  if (actions.actions.size() == 2 && replace != kMaxActions && skip != kMaxActions) {
    for (const std::string_view yes : kYes) {
      add(yes, replace);
    }
    for (const std::string_view no : kNo) {
      add(no, skip);
    }
  }
  for (std::size_t i = 0; i < actions.actions.size(); ++i) {
    add(fmt::format("{}", i), i);
  }
  return spellings;
}

std::optional<std::size_t> action_of(std::string_view text, const std::vector<Spelling>& spellings) {
  std::string word = folded(text);
  if (word.size() > 2 && word.ends_with(".0")) {
    word.resize(word.size() - 2);
  }
  const auto found = std::find_if(spellings.begin(), spellings.end(),
                                  [&](const Spelling& spelling) { return spelling.text == word; });
  return found == spellings.end() ? std::nullopt : std::optional(found->action);
}

std::optional<Direction> direction_of(std::string_view text) {
  return meaning_of(kDirections, folded(text));
}

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
#include "steer/reply_object.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "steer/unescape.h"

namespace rudder::steer {
namespace {

/// Longer keys are none.
constexpr std::size_t kMaxKeyBytes = 64;
/// Bytes before the first member that a failed reading may pass and give back to be read again.
constexpr std::size_t kMaxReread = 256;

struct Quotes {
  std::string_view opening;
  std::array<std::string_view, 3> closing;
};
constexpr std::array<Quotes, 9> kQuotes = {{{"\"", {"\"", "\"", "\""}},
                                            {"'", {"'", "'", "'"}},
                                            {"`", {"`", "`", "`"}},
                                            {"“", {"”", "“", "\""}},
                                            {"”", {"”", "“", "\""}},
                                            {"‘", {"’", "‘", "'"}},
                                            {"’", {"’", "‘", "'"}},
                                            {"「", {"」", "」", "」"}},
                                            {"『", {"』", "』", "』"}}}};

constexpr std::array<std::string_view, 4> kSeparators = {",", ";", "，", "；"};
constexpr std::array<std::string_view, 4> kColons = {":", "：", "=", "＝"};

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// The one of `candidates` that `text` has at `at`; empty: none.
std::string_view one_at(std::string_view text, std::size_t at, std::span<const std::string_view> candidates) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [&](std::string_view candidate) { return rest.starts_with(candidate); });
  return found == candidates.end() ? std::string_view() : *found;
}

const Quotes* quotes_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  const auto found = std::find_if(kQuotes.begin(), kQuotes.end(),
                                  [&](const Quotes& quotes) { return rest.starts_with(quotes.opening); });
  return found == kQuotes.end() ? nullptr : &*found;
}

/// Behind the blanks at `at`.
std::size_t past_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) {
    ++at;
  }
  return at;
}

/// A key's letter: of words in any script, and '%', which begins one name.
bool is_key_byte(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '_' || c == '-' || c == '%' || c == ' ';
}

/// A word behind JSON's escapes; longer texts, which are none, cut but still too long.
std::string plain(std::string_view word) {
  return word.size() <= kMaxWordBytes && word.find('\\') != std::string_view::npos
             ? unescaped(word)
             : std::string(word.substr(0, kMaxWordBytes + 1));
}

/// "<action>": the form of the answer as the prompt gives it, said again.
bool is_placeholder(std::string_view value) noexcept {
  return value.starts_with('<');
}

}  // namespace

std::size_t ReplyObject::read(std::size_t at) {
  at_ = at;
  if (!object({})) {
    if (!found_member_ && at_ - at <= kMaxReread) {
      return at;
    }
    skip_broken();
  }
  return at_;
}

DecisionField ReplyObject::decision() const {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [](const DecisionField& field) { return field.any(); });
  return found == fields_.end() ? DecisionField{} : *found;
}

/// To where the brackets open at `at_` are closed: what lies in a broken object is still inside of it.
void ReplyObject::skip_broken() {
  for (; open_ > 0 && at_ < text_.size(); ++at_) {
    if (at("{") || at("[")) {
      ++open_;
    } else if (at("}") || at("]")) {
      --open_;
    }
  }
}

bool ReplyObject::object(const Place& place) {
  ++at_;
  ++open_;
  if (place.depth >= kMaxNesting) {
    return false;
  }
  for (;;) {
    skip_separators();
    if (skip("}")) {
      --open_;
      return true;
    }
    const auto name = key();
    if (!name) {
      return false;
    }
    found_member_ = true;
    if (!value({place.role, key_of(plain(*name)), place.level, place.depth})) {
      return false;
    }
  }
}

bool ReplyObject::array(const Place& place) {
  ++at_;
  ++open_;
  if (place.depth >= kMaxNesting) {
    return false;
  }
  for (;;) {
    skip_separators();
    if (skip("]")) {
      --open_;
      return true;
    }
    if (at("}") || !value(place)) {
      return false;
    }
  }
}

bool ReplyObject::value(const Place& place) {
  skip_blanks();
  if (at("{")) {
    Place inner = {Role::kIgnored, ReplyKey::kOther, place.level, place.depth + 1};
    if (place.role == Role::kAnswer && place.key == ReplyKey::kExpected) {
      inner.role = Role::kExpected;
    } else if (place.role == Role::kAnswer && place.level < kMaxLevel &&
               (place.key == ReplyKey::kDecision || place.key == ReplyKey::kChoice ||
                place.key == ReplyKey::kWrapper)) {
      inner.role = Role::kAnswer;
      ++inner.level;
    }
    return object(inner);
  }
  if (at("[")) {
    return array({place.role, place.key, place.level, place.depth + 1});
  }
  const Quotes* const quotes = quotes_at(text_, at_);
  const Text text = quotes == nullptr ? bare() : quoted(quotes->opening);
  take(place, text);
  return text.complete;
}

std::optional<std::string_view> ReplyObject::key() {
  std::string_view name;
  if (const Quotes* const quotes = quotes_at(text_, at_)) {
    at_ += quotes->opening.size();
    const std::size_t begin = at_;
    const std::size_t limit = std::min(text_.size(), begin + kMaxKeyBytes);
    std::string_view closing;
    for (; at_ < limit && closing.empty(); ++at_) {
      closing = one_at(text_, at_, quotes->closing);
    }
    if (closing.empty()) {
      return std::nullopt;
    }
    name = text_.substr(begin, at_ - 1 - begin);
    at_ += closing.size() - 1;
  } else {
    const std::size_t begin = at_;
    const std::size_t limit = std::min(text_.size(), begin + kMaxKeyBytes);
    while (at_ < limit && is_key_byte(text_[at_]) && one_at(text_, at_, kColons).empty() &&
           one_at(text_, at_, kSeparators).empty()) {
      ++at_;
    }
    name = text_.substr(begin, at_ - begin);
  }
  at_ = past_spaces(text_, at_);
  const std::string_view colon = one_at(text_, at_, kColons);
  at_ += colon.size();
  return colon.empty() || name.empty() ? std::nullopt : std::optional(name);
}

ReplyObject::Text ReplyObject::quoted(std::string_view quote) {
  const auto& closing = std::find_if(kQuotes.begin(), kQuotes.end(), [&](const Quotes& quotes) {
                          return quotes.opening == quote;
                        })->closing;
  at_ += quote.size();
  const std::size_t begin = at_;
  while (at_ < text_.size()) {
    if (text_[at_] == '\\') {
      at_ = std::min(text_.size(), at_ + 2);
      continue;
    }
    const std::string_view end = one_at(text_, at_, closing);
    if (!end.empty() && ends_value(at_ + end.size())) {
      const std::string_view content = text_.substr(begin, at_ - begin);
      at_ += end.size();
      return {content, true};
    }
    ++at_;
  }
  return {text_.substr(begin), false};
}

ReplyObject::Text ReplyObject::bare() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '}' && text_[at_] != ']' && text_[at_] != '\n' &&
         one_at(text_, at_, kSeparators).empty()) {
    ++at_;
  }
  return {text_.substr(begin, at_ - begin), at_ < text_.size()};
}

void ReplyObject::take(const Place& place, const Text& text) {
  const bool decides = place.key == ReplyKey::kDecision || place.key == ReplyKey::kChoice;
  if (place.role == Role::kAnswer && place.key == ReplyKey::kReason && reason_.empty()) {
    reason_ = text.text;
  } else if (place.role == Role::kAnswer && decides) {
    DecisionField field;
    const std::string_view value = trimmed(text.text);
    if (!text.complete) {
      field.unfinished = true;  // whatever it would have been, fields of lower standing do not decide instead
    } else if (const auto action = action_of(plain(value), spellings_)) {
      field.actions = std::uint32_t{1} << *action;
      field.value = value;
    } else if (is_placeholder(value)) {
      field.value = value;
    } else {
      field.unknown = value;
    }
    fields_[2 * place.level + (place.key == ReplyKey::kChoice ? 1 : 0)].add(field);
  } else if (place.role == Role::kExpected && place.key == ReplyKey::kHits && text.complete) {
    hits_ = direction_of(text.text);
  } else if (place.role == Role::kExpected && place.key == ReplyKey::kTraffic && text.complete) {
    traffic_ = direction_of(text.text);
  }
}

void ReplyObject::skip_blanks() {
  for (;;) {
    at_ = past_spaces(text_, at_);
    std::size_t end = 0;
    if (at("//")) {
      end = text_.find('\n', at_);
    } else if (at("/*")) {
      end = text_.find("*/", at_ + 2);
      end += end == std::string_view::npos ? 0 : 2;
    } else {
      return;
    }
    at_ = std::min(end, text_.size());
  }
}

void ReplyObject::skip_separators() {
  for (skip_blanks();; skip_blanks()) {
    const std::string_view separator = one_at(text_, at_, kSeparators);
    if (separator.empty()) {
      return;
    }
    at_ += separator.size();
  }
}

bool ReplyObject::at(std::string_view what) const noexcept {
  return text_.substr(at_).starts_with(what);
}

bool ReplyObject::skip(std::string_view what) noexcept {
  if (!at(what)) {
    return false;
  }
  at_ += what.size();
  return true;
}

/// Whether a quote that ends at `after` ends its string: quotes inside of strings that the model forgot to
/// escape are followed by words. In JSON every unescaped quote behind a value's beginning passes.
bool ReplyObject::ends_value(std::size_t after) const noexcept {
  constexpr std::array<std::string_view, 4> kEnds = {"}", "]", "//", "/*"};
  const std::size_t next = past_spaces(text_, after);
  return next == text_.size() || !one_at(text_, next, kSeparators).empty() ||
         !one_at(text_, next, kEnds).empty() || (next > after && begins_member(next));
}

/// A quoted word and a colon: the comma before it is missing.
bool ReplyObject::begins_member(std::size_t at) const noexcept {
  const Quotes* const quotes = quotes_at(text_, at);
  if (quotes == nullptr) {
    return false;
  }
  std::size_t end = at + quotes->opening.size();
  const std::size_t limit = std::min(text_.size(), end + kMaxKeyBytes);
  while (end < limit && one_at(text_, end, quotes->closing).empty()) {
    ++end;
  }
  if (end == limit) {
    return false;
  }
  end += one_at(text_, end, quotes->closing).size();
  const std::string_view behind = text_.substr(end, kMaxKeyBytes);
  return !one_at(behind, past_spaces(behind, 0), kColons).empty();
}

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
#include "steer/reply_reader.h"

#include <algorithm>
#include <array>

#include "steer/reply_object.h"

namespace rudder::steer {
namespace {

struct Tag {
  std::string_view opening, closing;
};
constexpr std::array<Tag, 5> kReasoning = {{{"<think>", "</think>"},
                                            {"<thinking>", "</thinking>"},
                                            {"<thought>", "</thought>"},
                                            {"<reasoning>", "</reasoning>"},
                                            {"[THINK]", "[/THINK]"}}};
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Longer lines are prose.
constexpr std::size_t kMaxReplyLine = 160;

class ReplyScan {
 public:
  ReplyScan(std::string_view reply, const std::vector<Spelling>& spellings)
      : reply_(reply), spellings_(spellings) {}

  ReplyReading run() {
    at_ = reply_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    reading_.answer = at_;
    line();
    while ((at_ = reply_.find_first_of("{<[\n", at_)) != std::string_view::npos) {
      step();
      if (reading_.unfinished_reasoning) {
        return reading_;
      }
    }
    if (!reading_.decision.any()) {
      word();
    }
    return reading_;
  }

 private:
  /// Goes past what stands at `at_`.
  void step() {
    const char c = reply_[at_];
    if (c == '{') {
      object();
      return;
    }
    if (c != '\n' && tag()) {
      return;
    }
    ++at_;
    if (c == '\n') {
      line();
    }
  }

  void object() {
    ReplyObject object(reply_, spellings_);
    const std::size_t end = object.read(at_);
    at_ = end == at_ ? at_ + 1 : end;
    const DecisionField decision = object.decision();
    if (!decision.any()) {
      return;
    }
    if (!reading_.decision.any()) {
      reading_.reason = object.reason();
      reading_.hits = object.hits();
      reading_.traffic = object.traffic();
    }
    reading_.decision.add(decision);
  }

  /// Goes past reasoning whose tag stands at `at_`, or forgets all that came before its end.
  bool tag() {
    const std::string_view rest = reply_.substr(at_);
    for (const Tag& tag : kReasoning) {
      if (rest.starts_with(tag.opening)) {
        const std::size_t end = reply_.find(tag.closing, at_);
        reading_.unfinished_reasoning = end == std::string_view::npos;
        at_ = std::min(end, reply_.size());  // its end is the next thing read
        return true;
      }
      if (rest.starts_with(tag.closing)) {
        at_ += tag.closing.size();
        reading_ = {};
        reading_.answer = at_;
        line();
        return true;
      }
    }
    return false;
  }

  /// "decision: ACTION" from `at_` to the end of the line.
  void line() {
    const std::string_view whole = reply_.substr(at_, kMaxReplyLine + 1);
    const std::string_view text = whole.substr(0, whole.find('\n'));
    if (text.size() > kMaxReplyLine) {
      return;
    }
    const std::size_t ascii = text.find(':');
    const std::size_t wide = text.find("：");
    const std::size_t colon = std::min(ascii, wide);
    if (colon == std::string_view::npos) {
      return;
    }
    const ReplyKey key = key_of(text.substr(0, colon));
    if (key == ReplyKey::kDecision || key == ReplyKey::kChoice) {
      add_word(text.substr(colon + (ascii < wide ? 1 : std::string_view("：").size())));
    }
  }

  /// The whole answer as one word. A number alone says nothing.
  void word() {
    const std::string_view text = trimmed(reply_.substr(reading_.answer));
    if (text.find_first_not_of("0123456789.") != std::string_view::npos) {
      add_word(text);
    }
  }

  void add_word(std::string_view text) {
    if (const auto action = action_of(text, spellings_)) {
      DecisionField field;
      field.actions = std::uint32_t{1} << *action;
      field.value = trimmed(text);
      reading_.decision.add(field);
    }
  }

  std::string_view reply_;
  const std::vector<Spelling>& spellings_;
  std::size_t at_ = 0;
  ReplyReading reading_;
};

}  // namespace

void DecisionField::add(const DecisionField& other) {
  actions |= other.actions;
  if (!unknown) {
    unknown = other.unknown;
  }
  if (value.empty()) {
    value = other.value;
  }
  unfinished = unfinished || other.unfinished;
}

ReplyReading read_reply(std::string_view reply, const std::vector<Spelling>& spellings) {
  return ReplyScan(reply, spellings).run();
}

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
// A literal reader of GBNF, llama.cpp's grammar notation, that draws sentences of a grammar. It knows what
// our grammars use: rules, literals, character classes, alternatives and counted repetition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/core/rng.h"

namespace rudder::testing_support {

class ReferenceGrammar {
 public:
  /// Throws std::runtime_error where the text is not of the notation.
  explicit ReferenceGrammar(const std::string& text) {
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (end > begin) {
        rule(std::string_view(text).substr(begin, end - begin));
      }
      begin = end + 1;
    }
    if (rules_.count("root") == 0) {
      throw std::runtime_error("no rule named root");
    }
  }

  /// A sentence; repetitions are as long as they may be with `longest`.
  [[nodiscard]] std::string sentence(CounterRng& rng, bool longest = false) const {
    return expand("root", rng, longest);
  }

 private:
  struct Item {
    enum class Kind { kLiteral, kClass, kRule } kind = Kind::kLiteral;
    std::string text;  ///< of the literal, or the rule's name
    bool negated = false;
    std::vector<std::pair<unsigned, unsigned>> ranges;
    std::size_t least = 1, most = 1;
  };
  using Sequence = std::vector<Item>;

  void rule(std::string_view line) {
    const std::size_t sign = line.find(" ::= ");
    if (sign == std::string_view::npos) {
      throw std::runtime_error("no ::= in " + std::string(line));
    }
    std::vector<Sequence> alternatives(1);
    line_ = line.substr(sign + 5);
    while (blanks(), !line_.empty()) {
      if (line_[0] == '|') {
        line_.remove_prefix(1);
        alternatives.emplace_back();
      } else {
        alternatives.back().push_back(item());
      }
    }
    rules_[std::string(line.substr(0, sign))] = alternatives;
  }

  void blanks() {
    while (!line_.empty() && line_[0] == ' ') {
      line_.remove_prefix(1);
    }
  }

  Item item() {
    Item read;
    if (line_[0] == '"') {
      line_.remove_prefix(1);
      while (line_.at(0) != '"') {
        read.text += static_cast<char>(character());
      }
      line_.remove_prefix(1);
    } else if (line_[0] == '[') {
      read.kind = Item::Kind::kClass;
      line_.remove_prefix(1);
      if (line_.at(0) == '^') {
        read.negated = true;
        line_.remove_prefix(1);
      }
      while (line_.at(0) != ']') {
        const unsigned from = character();
        unsigned to = from;
        if (line_.at(0) == '-' && line_.at(1) != ']') {
          line_.remove_prefix(1);
          to = character();
        }
        read.ranges.emplace_back(from, to);
      }
      line_.remove_prefix(1);
    } else {
      read.kind = Item::Kind::kRule;
      while (!line_.empty() && ((line_[0] >= 'a' && line_[0] <= 'z') || line_[0] == '-')) {
        read.text += line_[0];
        line_.remove_prefix(1);
      }
      if (read.text.empty()) {
        throw std::runtime_error("cannot read " + std::string(line_));
      }
    }
    repetition(read);
    return read;
  }

  void repetition(Item& read) {
    if (line_.empty() || line_[0] != '{') {
      return;
    }
    const std::size_t comma = line_.find(',');
    const std::size_t end = line_.find('}');
    read.least = std::stoul(std::string(line_.substr(1, comma - 1)));
    read.most = std::stoul(std::string(line_.substr(comma + 1, end - comma - 1)));
    line_.remove_prefix(end + 1);
  }

  /// A byte behind the notation's escapes.
  unsigned character() {
    unsigned value = static_cast<unsigned char>(line_.at(0));
    line_.remove_prefix(1);
    if (value == '\\') {
      const char escape = line_.at(0);
      line_.remove_prefix(1);
      if (escape == 'x') {
        value = static_cast<unsigned>(std::stoul(std::string(line_.substr(0, 2)), nullptr, 16));
        line_.remove_prefix(2);
      } else if (escape == 'n') {
        value = '\n';
      } else if (escape == '"' || escape == '\\' || escape == ']' || escape == '[') {
        value = static_cast<unsigned char>(escape);
      } else {
        throw std::runtime_error(std::string("no escape \\") + escape);
      }
    }
    return value;
  }

  [[nodiscard]] std::string expand(const std::string& name, CounterRng& rng, bool longest) const {
    const auto found = rules_.find(name);
    if (found == rules_.end()) {
      throw std::runtime_error("no rule named " + name);
    }
    std::string best;
    for (std::size_t draw = 0; draw < (longest ? found->second.size() : 1); ++draw) {
      const Sequence& sequence = found->second[longest ? draw : rng.below(found->second.size())];
      std::string text;
      for (const Item& each : sequence) {
        const std::size_t count = longest ? each.most : each.least + rng.below(each.most - each.least + 1);
        for (std::size_t i = 0; i < count; ++i) {
          text += each.kind == Item::Kind::kLiteral ? each.text
                  : each.kind == Item::Kind::kRule  ? expand(each.text, rng, longest)
                                                    : member(each, rng, longest);
        }
      }
      best = text.size() > best.size() || draw == 0 ? text : best;
    }
    return best;
  }

  /// A character of a class: of ASCII or some longer ones; the longest is a ship of four bytes.
  static std::string member(const Item& of, CounterRng& rng, bool longest) {
    if (of.negated && (longest || rng.below(8) == 0)) {
      return longest || rng.below(2) == 0 ? "\xF0\x9F\x9A\xA2" : "\xE4\xB8\xAD";
    }
    for (;;) {
      const auto drawn = static_cast<unsigned>(rng.below(128));
      bool inside = false;
      for (const auto& [from, to] : of.ranges) {
        inside = inside || (drawn >= from && drawn <= to);
      }
      if (inside != of.negated) {
        return std::string(1, static_cast<char>(drawn));
      }
    }
  }

  std::map<std::string, std::vector<Sequence>> rules_;
  std::string_view line_;
};

}  // namespace rudder::testing_support

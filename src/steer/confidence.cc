// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/steer/prompt.h"

#include "steer/reply_reader.h"
#include "steer/reply_words.h"

namespace rudder::steer {
namespace {

/// What goes on after a word in a value that says more than the word.
bool goes_on(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || c == '-' || c == ' ' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

/// Actions, as bits, whose spelling may still come of a value that begins with `text`, or has come of it.
std::uint32_t open_to(std::string_view text, const std::vector<Spelling>& spellings) {
  std::uint32_t open = 0;
  for (const Spelling& spelling : spellings) {
    const std::string_view whole = spelling.text;
    const bool begins = whole.starts_with(text);
    const bool ended = text.size() > whole.size() && text.starts_with(whole) && !goes_on(text[whole.size()]);
    if (begins || ended) {
      open |= std::uint32_t{1} << spelling.action;
    }
  }
  return open;
}

std::string small(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c;
  });
  return out;
}

/// Probabilities come from another program.
double clean(double probability) {
  return probability > 0 ? std::min(probability, 1.0) : 0.0;
}

/// Walks over the value's tokens. O(tokens x choices x spellings).
class NameWalk {
 public:
  NameWalk(const std::vector<Spelling>& spellings, std::size_t action)
      : spellings_(spellings), chosen_(std::uint32_t{1} << action) {}

  /// Returns whether the name is still open behind the token. `first`: the value begins inside of it.
  bool token(const llm::Token& token, std::string_view rest_of_token, bool first) {
    double told = 0;
    double taken = -1;
    for (const auto& choice : token.choices) {
      const double probability = clean(choice.probability);
      told += probability;
      if (choice.text == token.text) {
        taken = probability;
        continue;
      }
      std::string_view rest = choice.text;
      if (first) {
        rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t\n\"':")));
      }
      count(open_to(done_ + small(rest), spellings_), path_ * probability);
    }
    path_ *= taken >= 0 ? taken : clean(1 - told);
    done_ += small(rest_of_token);
    const std::uint32_t open = open_to(done_, spellings_);
    return open != chosen_ && (open & chosen_) != 0;
  }

  [[nodiscard]] double confidence() const {
    const double mine = mine_ + path_;
    return mine + others_ > 0 ? mine / (mine + others_) : 1;
  }

 private:
  /// What may still become either says nothing.
  void count(std::uint32_t open, double probability) {
    if (open == chosen_) {
      mine_ += probability;
    } else if ((open & chosen_) == 0 && open != 0) {
      others_ += probability;
    }
  }

  const std::vector<Spelling>& spellings_;
  std::uint32_t chosen_;
  std::string done_;
  double path_ = 1, mine_ = 0, others_ = 0;
};

}  // namespace

double confidence_of(const llm::ChatReply& reply, const ActionSet& actions, std::size_t action) {
  std::string text;
  for (const llm::Token& token : reply.tokens) {
    text += token.text;
  }
  const auto spellings = spellings_of(actions);
  const std::string_view value = read_reply(text, spellings).decision.value;
  if (value.empty() || action >= actions.actions.size()) {
    return 1;
  }
  const auto begin = static_cast<std::size_t>(value.data() - text.data());
  NameWalk walk(spellings, action);
  bool first = true;
  std::size_t start = 0;
  for (const llm::Token& token : reply.tokens) {
    const std::size_t end = start + token.text.size();
    if (end > begin) {
      const std::string_view rest =
          std::string_view(text).substr(std::max(start, begin), end - std::max(start, begin));
      if (token.choices.empty() || !walk.token(token, rest, std::exchange(first, false))) {
        break;
      }
    }
    start = end;
  }
  return first ? 1 : walk.confidence();
}

}  // namespace rudder::steer

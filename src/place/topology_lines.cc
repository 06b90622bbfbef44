// SPDX-License-Identifier: Apache-2.0
#include "place/topology_readers.h"

namespace rudder::place {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) noexcept {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

bool Lines::next(std::string_view& line) {
  if (rest_.empty()) {
    return false;
  }
  const std::size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  ++number_;
  return true;
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view take_word(std::string_view& text) {
  text = trim(text);
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text = trim(text.substr(word.size()));
  return word;
}

}  // namespace rudder::place

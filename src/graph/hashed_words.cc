// SPDX-License-Identifier: Apache-2.0
#include "graph/hashed_words.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "rudder/core/rng.h"

#include "graph/seeded.h"

namespace rudder::graph {
namespace {

/// The lower-case letter or digit, or 0 for a separator. Independent of the locale.
char word_character(char c) {
  if (c >= 'A' && c <= 'Z') {
    return static_cast<char>(c - 'A' + 'a');
  }
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '\0';
}

}  // namespace

void add_hashed_words(std::string_view text, std::span<float> row) {
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? word_character(text[i]) : '\0';
    if (c != '\0') {
      word.push_back(c);
    } else if (!word.empty()) {
      const std::uint64_t hash = hash_text(word);
      const auto column = static_cast<std::size_t>((hash >> 1) % row.size());
      row[column] += (hash & 1) != 0 ? 1.0F : -1.0F;
      word.clear();
    }
  }
}

void normalise_row(std::span<float> row) {
  double squares = 0;
  for (const float value : row) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  if (squares > 0) {
    const auto scale = static_cast<float>(1 / std::sqrt(squares));
    for (float& value : row) {
      value *= scale;
    }
  }
}

}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/page.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::metrics {
namespace {

/// Reads one line from the front.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : left_(line) {}

  /// The longest name at the front; empty when none begins here.
  std::string_view name() {
    std::size_t end = 0;
    while (end < left_.size() && is_name_character(left_[end], end)) {
      ++end;
    }
    const std::string_view found = left_.substr(0, end);
    left_.remove_prefix(end);
    return found;
  }
  bool skip(char c) {
    if (left_.empty() || left_.front() != c) {
      return false;
    }
    left_.remove_prefix(1);
    return true;
  }
  /// A label's value behind its opening quote, up to and with the closing one.
  std::optional<std::string> quoted() {
    std::string value;
    while (!left_.empty()) {
      const char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"') {
        return value;
      }
      if (c != '\\') {
        value += c;
      } else if (skip('n')) {
        value += '\n';
      } else if (skip('\\')) {
        value += '\\';
      } else if (skip('"')) {
        value += '"';
      } else {
        break;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string_view rest() const { return left_; }

 private:
  static bool is_name_character(char c, std::size_t at) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (at > 0 && c >= '0' && c <= '9');
  }
  std::string_view left_;
};

std::optional<double> number(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (text == "+Inf" || text == "-Inf") {
    return text.front() == '-' ? -kInfinity : kInfinity;
  }
  return parse_double(text);
}

bool read_labels(LineReader& line, Labels& labels) {
  do {
    const std::string_view name = line.name();
    if (name.empty() || !line.skip('=') || !line.skip('"')) {
      return false;
    }
    auto value = line.quoted();
    if (!value || std::ranges::any_of(labels, [&](const auto& label) { return label.first == name; })) {
      return false;
    }
    labels.emplace_back(name, *std::move(value));
  } while (line.skip(','));
  return line.skip('}');
}

std::optional<Sample> read_sample(std::string_view text) {
  LineReader line(text);
  Sample sample;
  sample.name = line.name();
  if (sample.name.empty() || (line.skip('{') && !read_labels(line, sample.labels)) || !line.skip(' ')) {
    return std::nullopt;
  }
  const auto value = number(line.rest());
  if (!value) {
    return std::nullopt;
  }
  sample.value = *value;
  return sample;
}

}  // namespace

std::string_view Sample::label(std::string_view key) const noexcept {
  const auto found = std::ranges::find_if(labels, [&](const auto& label) { return label.first == key; });
  return found == labels.end() ? std::string_view() : found->second;
}

Result<Page> Page::parse(std::string_view text) {
  Page page;
  std::size_t number_of_line = 0;
  while (!text.empty()) {
    ++number_of_line;
    const std::size_t end = text.find('\n');
    if (end == text.npos) {
      return Error{Errc::kInvalidData, fmt::format("line {} of figures is cut short", number_of_line)};
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with('#')) {
      continue;
    }
    auto sample = read_sample(line);
    if (!sample) {
      return Error{Errc::kInvalidData, fmt::format("line {} of figures is malformed", number_of_line)};
    }
    page.samples_.push_back(*std::move(sample));
  }
  const auto key = [](const Sample& s) { return std::tie(s.name, s.labels); };
  std::ranges::sort(page.samples_, {}, key);
  const auto twice = std::ranges::adjacent_find(page.samples_, {}, key);
  if (twice != page.samples_.end()) {
    return Error{Errc::kInvalidData, fmt::format("figure {} comes twice with the same labels", twice->name)};
  }
  return page;
}

std::span<const Sample> Page::of(std::string_view name) const noexcept {
  const auto begin = std::ranges::lower_bound(samples_, name, {}, &Sample::name);
  const auto end = std::ranges::upper_bound(begin, samples_.end(), name, {}, &Sample::name);
  return {begin, end};
}

double Page::sum(std::string_view name, const Labels& labels) const noexcept {
  double total = 0;
  for (const Sample& sample : of(name)) {
    if (std::ranges::all_of(labels, [&](const auto& label) {
          return std::ranges::find(sample.labels, label) != sample.labels.end();
        })) {
      total += sample.value;
    }
  }
  return total;
}

}  // namespace rudder::metrics

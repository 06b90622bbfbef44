// SPDX-License-Identifier: Apache-2.0
#include "graph/debian_control.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace rudder::graph {
namespace {

struct Field {
  std::string_view name;
  std::string_view DebianPackage::*member;
};

constexpr std::array<Field, 7> kFields{{{"Package", &DebianPackage::name},
                                        {"Section", &DebianPackage::section},
                                        {"Description", &DebianPackage::description},
                                        {"Provides", &DebianPackage::provides},
                                        {"Depends", &DebianPackage::depends},
                                        {"Pre-Depends", &DebianPackage::pre_depends},
                                        {"Recommends", &DebianPackage::recommends}}};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

/// Length of the package name at the start of `text` (Debian Policy 5.6.7), 0 when there is none.
std::size_t name_length(std::string_view text) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  std::size_t length = 0;
  while (length < text.size() &&
         (alphanumeric(text[length]) ||
          (length > 0 && (text[length] == '+' || text[length] == '-' || text[length] == '.')))) {
    ++length;
  }
  return length;
}

/// What may be quoted in a message.
std::string_view shortened(std::string_view text) {
  return text.substr(0, std::min<std::size_t>(text.size(), 60));
}

/// The state of one pass over the lines.
class ControlParser {
 public:
  Status line(std::string_view text, std::size_t number) {
    if (trim(text).empty()) {
      return finish();
    }
    if (text.front() == ' ' || text.front() == '\t') {
      if (!in_stanza_) {
        return Error{Errc::kInvalidData, fmt::format("line {}: continues a field, but none began", number)};
      }
      if (value_ != nullptr) {
        // The value and this line are neighbours in one text.
        *value_ = {value_->data(), static_cast<std::size_t>(text.data() + text.size() - value_->data())};
      }
      return {};
    }
    return field(text, number);
  }

  Status finish() {
    if (!in_stanza_) {
      return {};
    }
    for (const Field& field : kFields) {
      package_.*field.member = trim(package_.*field.member);
    }
    if (package_.name.empty() || name_length(package_.name) != package_.name.size()) {
      return Error{Errc::kInvalidData, fmt::format("stanza at line {}: '{}' is not a package name",
                                                   package_.line, shortened(package_.name))};
    }
    packages_.push_back(package_);
    package_ = {};
    in_stanza_ = false;
    value_ = nullptr;
    return {};
  }

  std::vector<DebianPackage> take() { return std::move(packages_); }

 private:
  Status field(std::string_view text, std::size_t number) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      return Error{Errc::kInvalidData,
                   fmt::format("line {}: expected 'Field: value', found '{}'", number, shortened(text))};
    }
    if (!in_stanza_) {
      in_stanza_ = true;
      package_.line = number;
    }
    value_ = nullptr;
    const auto known = std::find_if(kFields.begin(), kFields.end(), [&](const Field& candidate) {
      return candidate.name == text.substr(0, colon);
    });
    if (known == kFields.end()) {
      return {};
    }
    value_ = &(package_.*known->member);
    if (value_->data() != nullptr) {
      return Error{Errc::kInvalidData,
                   fmt::format("line {}: a second '{}' in one stanza", number, known->name)};
    }
    *value_ = text.substr(colon + 1);
    return {};
  }

  std::vector<DebianPackage> packages_;
  DebianPackage package_;
  std::string_view* value_ = nullptr;  ///< that continuation lines extend; null: a field not read
  bool in_stanza_ = false;
};

}  // namespace

Result<std::vector<DebianPackage>> parse_control(std::string_view text) {
  ControlParser parser;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    RUDDER_TRY(parser.line(text.substr(0, end), ++number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  RUDDER_TRY(parser.finish());
  return parser.take();
}

Result<std::vector<std::vector<std::string_view>>> parse_relations(std::string_view field) {
  std::vector<std::vector<std::string_view>> clauses;
  while (!field.empty()) {
    const std::size_t comma = std::min(field.find(','), field.size());
    std::string_view clause = trim(field.substr(0, comma));
    field.remove_prefix(std::min(comma + 1, field.size()));
    if (clause.empty()) {
      continue;
    }
    std::vector<std::string_view> alternatives;
    while (true) {
      const std::size_t bar = std::min(clause.find('|'), clause.size());
      const std::string_view alternative = trim(clause.substr(0, bar));
      const std::size_t length = name_length(alternative);
      if (length == 0) {
        return Error{Errc::kInvalidData, fmt::format("'{}' names no package", shortened(alternative))};
      }
      alternatives.push_back(alternative.substr(0, length));
      if (bar == clause.size()) {
        break;
      }
      clause.remove_prefix(bar + 1);
    }
    clauses.push_back(std::move(alternatives));
  }
  return clauses;
}

}  // namespace rudder::graph

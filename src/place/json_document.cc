// SPDX-License-Identifier: Apache-2.0
#include "place/json_document.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace rudder::place {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = std::size_t{1} << 25;

/// Builds the document from events; the library's own builder knows no filter and takes the last of two equal
/// keys in silence.
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(const JsonFilter& filter) : filter_(filter) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return fail("binary data"); }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (skipped_ > 0) {
      return true;
    }
    const auto in = [&](std::span<const std::string_view> keys) {
      return std::find(keys.begin(), keys.end(), name) != keys.end();
    };
    const bool whole = in(filter_.keep_whole);
    if (whole_from_ == 0 && whole) {
      whole_from_ = stack_.size() + 1;
    }
    skip_next_ = whole_from_ == 0 && !filter_.keep.empty() && !in(filter_.keep);
    if (!skip_next_ && stack_.back()->contains(name)) {
      return fail(fmt::format("key '{}' occurs twice in one object", name.substr(0, 80)));
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    std::string text =
        error.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    problem_ = text.substr(text.find("] ") == std::string::npos ? 0 : text.find("] ") + 2);
    std::replace_if(
        problem_.begin(), problem_.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
    return false;
  }

  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] json take() { return std::move(root_); }

 private:
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  /// Puts a value where the events are; null when it is skipped.
  json* put(json value) {
    if (std::exchange(skip_next_, false)) {
      return nullptr;
    }
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool count() { return ++values_ <= kMaxValues || fail(fmt::format("more than {} values", kMaxValues)); }
  void leave_whole() {
    if (whole_from_ > stack_.size()) {
      whole_from_ = 0;
    }
  }
  bool add(json value) {
    if (skipped_ > 0) {
      return true;
    }
    put(std::move(value));
    leave_whole();
    return count();
  }
  bool open(json value) {
    if (++depth_ > kMaxDepth) {
      return fail(fmt::format("nests more than {} deep", kMaxDepth));
    }
    if (skipped_ > 0) {
      ++skipped_;
      return true;
    }
    if (json* placed = put(std::move(value))) {
      stack_.push_back(placed);
    } else {
      skipped_ = 1;
    }
    return count();
  }
  bool close() {
    --depth_;
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    stack_.pop_back();
    leave_whole();
    return true;
  }

  const JsonFilter& filter_;
  json root_;
  std::vector<json*> stack_;  ///< open containers; only the innermost grows, so pointers stay valid
  std::string key_;
  std::string problem_;
  std::size_t depth_ = 0;
  std::size_t skipped_ = 0;     ///< depth inside a value that is not kept
  std::size_t whole_from_ = 0;  ///< stack size from which everything is kept; 0: the filter decides
  std::size_t values_ = 0;
  bool skip_next_ = false;
};

/// Characters of a text; `line` is where the one read last stands, for events tell no places.
class Reading {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reading(const char* at, std::size_t& line) : at_(at), line_(&line) {}
  reference operator*() const { return *at_; }
  Reading& operator++() {
    *line_ += *at_ == '\n' ? 1U : 0U;
    ++at_;
    return *this;
  }
  Reading operator++(int) {
    const Reading before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Reading& a, const Reading& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::size_t* line_;
};

}  // namespace

Result<json> parse_json(const std::string& where, std::string_view text, const JsonFilter& filter) {
  Builder builder(filter);
  std::size_t line = 1;
  const Reading begin(text.data(), line);
  const Reading end(text.data() + text.size(), line);
  if (!json::sax_parse(begin, end, &builder)) {
    const std::string& problem = builder.problem();
    return Error{Errc::kInvalidData, problem.find("at line ") != std::string::npos
                                         ? fmt::format("{}: {}", where, problem)
                                         : fmt::format("{}: line {}: {}", where, line, problem)};
  }
  return builder.take();
}

const json* member(const json& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string_view text_member(const json& object, std::string_view key) {
  const json* value = member(object, key);
  const auto* text = value == nullptr ? nullptr : value->get_ptr<const std::string*>();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

}  // namespace rudder::place

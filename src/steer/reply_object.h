// SPDX-License-Identifier: Apache-2.0
// Reads one object of a reply as far as it can be read: JSON, and what models write instead.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "steer/reply_reader.h"
#include "steer/reply_words.h"

namespace rudder::steer {

/// Beyond JSON: other quotes and none, `=` and full-width punctuation, trailing and missing commas, comments,
/// quotes inside of strings that were not escaped, and an end that was cut off. One object a reader.
class ReplyObject {
 public:
  ReplyObject(std::string_view text, const std::vector<Spelling>& spellings)
      : text_(text), spellings_(spellings) {}

  /// Reads from the brace at `at`, as far as the object is one. Returns where it ends, a broken one where its
  /// brackets do; `at` when there is not even a first member. O(bytes passed) and, when it returns `at`,
  /// O(1).
  [[nodiscard]] std::size_t read(std::size_t at);

  /// The fields of highest standing.
  [[nodiscard]] DecisionField decision() const;
  [[nodiscard]] std::string_view reason() const noexcept { return reason_; }
  [[nodiscard]] std::optional<Direction> hits() const noexcept { return hits_; }
  [[nodiscard]] std::optional<Direction> traffic() const noexcept { return traffic_; }

 private:
  /// What members of an object mean.
  enum class Role { kAnswer, kExpected, kIgnored };
  struct Place {
    Role role = Role::kAnswer;
    ReplyKey key = ReplyKey::kOther;  ///< of the member
    std::size_t level = 0;            ///< wrappers around
    std::size_t depth = 0;            ///< containers around
  };
  struct Text {
    std::string_view text;
    bool complete = false;
  };

  void skip_broken();

  // False: broken or cut off; reading ends.
  bool object(const Place& place);
  bool array(const Place& place);
  bool value(const Place& place);
  [[nodiscard]] std::optional<std::string_view> key();
  [[nodiscard]] Text quoted(std::string_view quote);
  [[nodiscard]] Text bare();
  void take(const Place& place, const Text& text);

  void skip_blanks();      ///< and comments
  void skip_separators();  ///< and blanks
  [[nodiscard]] bool at(std::string_view what) const noexcept;
  bool skip(std::string_view what) noexcept;
  [[nodiscard]] std::string_view opening_quote() const noexcept;
  [[nodiscard]] bool ends_value(std::size_t after) const noexcept;
  [[nodiscard]] bool begins_member(std::size_t at) const noexcept;

  static constexpr std::size_t kMaxLevel = 3;

  std::string_view text_;
  const std::vector<Spelling>& spellings_;
  std::size_t at_ = 0;
  std::size_t open_ = 0;  ///< brackets around at_
  bool found_member_ = false;
  /// By wrappers around; first the keys that say decision.
  std::array<DecisionField, 2 * (kMaxLevel + 1)> fields_;
  std::string_view reason_;
  std::optional<Direction> hits_, traffic_;
};

}  // namespace rudder::steer

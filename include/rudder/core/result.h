// SPDX-License-Identifier: Apache-2.0
// Errors are values: `Result<T>` holds a T or an `Error`. No exception crosses a module border.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "rudder/core/check.h"

namespace rudder {

enum class Errc : std::uint8_t {
  kInvalidArgument,  ///< an option or a call's argument is wrong (exit code 2)
  kInvalidData,      ///< a file or message does not parse or contradicts itself
  kNotFound,         ///< a file, key or peer does not exist
  kIo,               ///< the operating system refused
  kUnsupported,      ///< well-formed, but not something this program handles
  kResource,         ///< memory, disk or descriptors would run out
  kTimeout,          ///< a deadline passed; the message names who was waited for
  kPeer,             ///< another process failed, left or disagreed
  kCancelled,        ///< stopped on purpose
  kInternal,         ///< a third-party library failed in an unexpected way
};

/// Says what failed, where (file, place) and the offending value, in one line without a final full stop.
struct Error {
  Errc code = Errc::kInternal;
  std::string message;

  /// The same error with `context` and ": " put in front.
  [[nodiscard]] Error in(const std::string& context) const { return {code, context + ": " + message}; }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] T& value() & {
    RUDDER_CHECK(ok(), "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    RUDDER_CHECK(ok(), "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    RUDDER_CHECK(ok(), "value() of a failed Result");
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] const Error& error() const {
    RUDDER_CHECK(!ok(), "error() of a successful Result");
    return *std::get_if<1>(&state_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] const Error& error() const {
    RUDDER_CHECK(!ok(), "error() of a successful Result");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace rudder

#define RUDDER_CONCAT_INNER(a, b) a##b
#define RUDDER_CONCAT(a, b) RUDDER_CONCAT_INNER(a, b)

/// Evaluates a Status or Result and returns its error from the enclosing function, if it has one.
#define RUDDER_TRY(expression)             \
  do {                                     \
    auto rudder_try_result = (expression); \
    if (!rudder_try_result.ok()) {         \
      return rudder_try_result.error();    \
    }                                      \
  } while (false)

/// RUDDER_ASSIGN(auto x, f()): x is f's value, or the enclosing function returns f's error.
#define RUDDER_ASSIGN(declaration, expression) \
  RUDDER_ASSIGN_INNER(RUDDER_CONCAT(rudder_result_, __LINE__), declaration, expression)
#define RUDDER_ASSIGN_INNER(name, declaration, expression) \
  auto name = (expression);                                \
  if (!name.ok()) {                                        \
    return name.error();                                   \
  }                                                        \
  declaration = std::move(name).value()

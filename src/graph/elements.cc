// SPDX-License-Identifier: Apache-2.0
#include "graph/elements.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

namespace rudder::graph {
namespace {

/// Calls f(element) for each element, whose alignment does not matter.
template <class T, class F>
void for_each_as(std::span<const std::byte> bytes, F f) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    f(value);
  }
}

/// Calls f once a element with a float or integer of the element's own type; half floats arrive as f32.
template <class F>
void for_each_element(DType type, std::span<const std::byte> bytes, F f) {
  switch (type) {
    case DType::kF32:
      return for_each_as<float>(bytes, f);
    case DType::kF16:
      return for_each_as<std::uint16_t>(bytes, [&](std::uint16_t half) { f(f16_to_f32(half)); });
    case DType::kBF16:
      return for_each_as<std::uint16_t>(bytes, [&](std::uint16_t half) { f(bf16_to_f32(half)); });
    case DType::kF64:
      return for_each_as<double>(bytes, f);
    case DType::kI32:
      return for_each_as<std::int32_t>(bytes, f);
    case DType::kI64:
      return for_each_as<std::int64_t>(bytes, f);
    case DType::kU8:
      return for_each_as<std::uint8_t>(bytes, f);
    case DType::kI8:
      return for_each_as<std::int8_t>(bytes, f);
    case DType::kI16:
      return for_each_as<std::int16_t>(bytes, f);
    case DType::kU16:
      return for_each_as<std::uint16_t>(bytes, f);
    case DType::kU32:
      return for_each_as<std::uint32_t>(bytes, f);
    case DType::kU64:
      return for_each_as<std::uint64_t>(bytes, f);
    case DType::kBool:
      return for_each_as<std::uint8_t>(bytes, [&](std::uint8_t flag) { f(flag != 0 ? 1 : 0); });
  }
}

bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 || type == DType::kF64;
}

}  // namespace

Result<std::vector<std::int64_t>> elements_to_int64(DType type, std::span<const std::byte> bytes,
                                                    const std::string& where) {
  if (is_float(type)) {
    return Error{Errc::kInvalidData,
                 fmt::format("{}: a {} array where integers are needed", where, name_of(type))};
  }
  std::vector<std::int64_t> out;
  out.reserve(bytes.size() / size_of(type));
  bool too_large = false;
  for_each_element(type, bytes, [&](auto value) {
    if constexpr (std::is_same_v<decltype(value), std::uint64_t>) {
      too_large = too_large || value > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    }
    out.push_back(static_cast<std::int64_t>(value));
  });
  if (too_large) {
    return Error{Errc::kInvalidData, where + ": holds an integer above 2^63 - 1"};
  }
  return out;
}

std::vector<float> elements_to_f32(DType type, std::span<const std::byte> bytes) {
  std::vector<float> out;
  out.reserve(bytes.size() / size_of(type));
  for_each_element(type, bytes, [&](auto value) { out.push_back(static_cast<float>(value)); });
  return out;
}

bool label_from_double(double value, std::int64_t& label) noexcept {
  constexpr double kLimit = 2147483648.0;
  if (std::isnan(value)) {
    label = -1;
    return true;
  }
  if (!(std::abs(value) < kLimit) || std::trunc(value) != value) {
    return false;
  }
  label = static_cast<std::int64_t>(value);
  return true;
}

Result<std::vector<std::int64_t>> elements_to_labels(DType type, std::span<const std::byte> bytes,
                                                     const std::string& where) {
  if (!is_float(type)) {
    return elements_to_int64(type, bytes, where);
  }
  std::vector<std::int64_t> out;
  out.reserve(bytes.size() / size_of(type));
  std::string problem;
  for_each_element(type, bytes, [&](auto value) {
    std::int64_t label = -1;
    if (!label_from_double(static_cast<double>(value), label) && problem.empty()) {
      problem = fmt::format("{}: label {} is {}, not a whole number", where, out.size(), value);
    }
    out.push_back(label);
  });
  if (!problem.empty()) {
    return Error{Errc::kInvalidData, problem};
  }
  return out;
}

Result<std::vector<std::uint8_t>> elements_to_flags(DType type, std::span<const std::byte> bytes,
                                                    const std::string& where) {
  std::vector<std::uint8_t> out;
  out.reserve(bytes.size() / size_of(type));
  std::string problem;
  for_each_element(type, bytes, [&](auto value) {
    const auto number = static_cast<double>(value);
    if (number != 0 && number != 1 && problem.empty()) {
      problem = fmt::format("{}: label {} is {}; of several label columns each is 0 or 1", where, out.size(),
                            number);
    }
    out.push_back(number == 1 ? 1 : 0);
  });
  if (!problem.empty()) {
    return Error{Errc::kInvalidData, problem};
  }
  return out;
}

}  // namespace rudder::graph

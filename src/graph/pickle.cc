// SPDX-License-Identifier: Apache-2.0
// The values of a parsed pickle as arrays, matrices and lists.
#include "graph/pickle.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "graph/elements.h"

namespace rudder::graph {

using Kind = PickleValue::Kind;

Result<DType> Pickle::dtype_of(PickleValue value, std::string_view name) const {
  if (value.kind != Kind::kDtype) {
    return invalid(where_, fmt::format("{}: its dtype is not a dtype", name));
  }
  const Object& dtype = object(value);
  struct Code {
    std::string_view text;
    DType type;
  };
  constexpr Code kCodes[] = {{"f4", DType::kF32}, {"f8", DType::kF64}, {"i4", DType::kI32},
                             {"i8", DType::kI64}, {"i2", DType::kI16}, {"i1", DType::kI8},
                             {"u1", DType::kU8},  {"b1", DType::kBool}};
  const auto* code = std::find_if(std::begin(kCodes), std::end(kCodes),
                                  [&](const Code& known) { return known.text == dtype.text; });
  if (code == std::end(kCodes)) {
    return Error{Errc::kUnsupported,
                 fmt::format("{}: {}: dtype '{}' is not read", where_, name, shown(dtype.text))};
  }
  // State: version, byte order, subarray, names, fields, size, alignment, flags. Only plain numbers have None
  // in all three.
  const std::vector<PickleValue>& state = dtype.items;
  const bool plain = state.size() == 8 && state[1].kind == Kind::kString && state[2].kind == Kind::kNone &&
                     state[3].kind == Kind::kNone && state[4].kind == Kind::kNone;
  if (!plain) {
    return Error{Errc::kUnsupported, fmt::format("{}: {}: not an array of plain numbers", where_, name)};
  }
  const std::string_view order = object(state[1]).text;
  if (order != "<" && !(size_of(code->type) == 1 && order == "|")) {
    return Error{Errc::kUnsupported, fmt::format("{}: {}: byte order '{}'", where_, name, shown(order))};
  }
  return code->type;
}

Result<std::vector<std::size_t>> Pickle::shape_of(PickleValue value, std::string_view name) const {
  constexpr std::size_t kMaxDimensions = 8;
  if (value.kind != Kind::kTuple || object(value).items.size() > kMaxDimensions) {
    return invalid(where_, fmt::format("{}: its shape is not a short tuple", name));
  }
  std::vector<std::size_t> shape;
  std::size_t elements = 1;
  for (const PickleValue extent : object(value).items) {
    if (extent.kind != Kind::kInt || extent.number < 0) {
      return invalid(where_, fmt::format("{}: an extent of its shape is not a count", name));
    }
    shape.push_back(static_cast<std::size_t>(extent.number));
    // BININT holds 32 bits, so this product cannot overflow before it is checked.
    elements = std::max<std::size_t>(elements, 1) * shape.back();
    if (elements > (std::size_t{1} << 32)) {
      return invalid(where_, fmt::format("{}: shape ({}) is too large", name, fmt::join(shape, ", ")));
    }
  }
  return shape;
}

Result<Pickle::Array> Pickle::array_of(PickleValue value, std::string_view name) const {
  if (value.kind != Kind::kArray || object(value).items.size() != 5) {
    return invalid(where_, fmt::format("{} is not a NumPy array", name));
  }
  // State: version, shape, dtype, Fortran order, bytes.
  const std::vector<PickleValue>& state = object(value).items;
  Array array;
  RUDDER_ASSIGN(array.shape, shape_of(state[1], name));
  RUDDER_ASSIGN(array.dtype, dtype_of(state[2], name));
  const auto wide = [](std::size_t extent) { return extent > 1; };
  if (state[3].kind != Kind::kBool ||
      (state[3].number != 0 && std::count_if(array.shape.begin(), array.shape.end(), wide) > 1)) {
    return Error{Errc::kUnsupported, fmt::format("{}: {} is in Fortran order", where_, name)};
  }
  if (state[4].kind != Kind::kString) {
    return invalid(where_, fmt::format("{} has no bytes", name));
  }
  std::size_t needed = size_of(array.dtype);
  for (const std::size_t extent : array.shape) {
    needed *= extent;
  }
  array.bytes = std::as_bytes(std::span(object(state[4]).text));
  if (array.bytes.size() != needed) {
    return invalid(where_, fmt::format("{} of shape ({}) has {} bytes, {} are expected", name,
                                       fmt::join(array.shape, ", "), array.bytes.size(), needed));
  }
  return array;
}

Result<PickleValue> Pickle::member(PickleValue matrix, std::string_view key) const {
  const std::vector<PickleValue>& items = object(matrix).items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind == Kind::kString && object(items[i]).text == key) {
      return items[i + 1];
    }
  }
  return invalid(where_, fmt::format("the matrix has no '{}'", key));
}

Result<SparseRows> Pickle::matrix() const {
  if (root_.kind != Kind::kMatrix) {
    return invalid(where_, "not a SciPy CSR matrix");
  }
  SparseRows matrix;
  RUDDER_ASSIGN(const PickleValue shape_value, member(root_, "_shape"));
  RUDDER_ASSIGN(const std::vector<std::size_t> shape, shape_of(shape_value, "_shape"));
  if (shape.size() != 2) {
    return invalid(where_, fmt::format("a matrix of {} dimensions", shape.size()));
  }
  matrix.rows = shape[0];
  matrix.columns = shape[1];
  for (const auto& [key, out] :
       {std::pair("indptr", &matrix.indptr), std::pair("indices", &matrix.indices)}) {
    RUDDER_ASSIGN(const PickleValue value, member(root_, key));
    RUDDER_ASSIGN(const Array array, array_of(value, key));
    RUDDER_ASSIGN(*out, elements_to_int64(array.dtype, array.bytes, fmt::format("{}: {}", where_, key)));
  }
  RUDDER_ASSIGN(const PickleValue data, member(root_, "data"));
  RUDDER_ASSIGN(const Array values, array_of(data, "data"));
  matrix.values = elements_to_f32(values.dtype, values.bytes);
  if (matrix.values.size() != matrix.indices.size()) {
    return invalid(where_,
                   fmt::format("{} values for {} indices", matrix.values.size(), matrix.indices.size()));
  }
  RUDDER_TRY(validate_sparse(matrix, where_));
  return matrix;
}

Status Pickle::ints_of(PickleValue value, std::vector<std::int64_t>& out) const {
  if (value.kind != Kind::kList) {
    return invalid(where_, "a value of the dict is not a list");
  }
  out.clear();
  for (const PickleValue item : object(value).items) {
    if (item.kind != Kind::kInt) {
      return invalid(where_, "an item of a list is not an integer");
    }
    out.push_back(item.number);
  }
  return {};
}

}  // namespace rudder::graph

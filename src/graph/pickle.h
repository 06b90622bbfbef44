// SPDX-License-Identifier: Apache-2.0
// A reader of the pickles that Planetoid files are: NumPy arrays, SciPy CSR matrices and a dict of lists.
// It runs no code: opcodes and names outside a short list are errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/core/dtype.h"
#include "rudder/core/result.h"

#include "graph/import_common.h"

namespace rudder::graph {

/// An unpickled value. Numbers are held in place, everything else refers to an object of its Pickle.
struct PickleValue {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInt,
    kString,
    kTuple,
    kList,
    kDict,
    kGlobal,
    kDtype,
    kArray,
    kMatrix
  };
  Kind kind = Kind::kNone;
  std::int64_t number = 0;  ///< the number, or the object's index
};

/// A parsed pickle. It refers to the bytes it was parsed from, which must outlive it.
class Pickle {
 public:
  /// `limit`: bytes of memory that the values may take.
  [[nodiscard]] static Result<Pickle> parse(std::span<const std::byte> bytes, std::string where,
                                            std::size_t limit);

  struct Array {
    DType dtype = DType::kF32;
    std::vector<std::size_t> shape;
    std::span<const std::byte> bytes;
  };

  /// The whole pickle as one array, in C order.
  [[nodiscard]] Result<Array> array() const { return array_of(root_, "the pickle"); }
  /// The whole pickle as one CSR matrix, validated.
  [[nodiscard]] Result<SparseRows> matrix() const;
  /// The whole pickle as a dict from a node to a list of nodes: calls f(node, neighbours).
  template <class F>
  [[nodiscard]] Status for_each_list(F f) const;

 private:
  friend class PickleMachine;
  struct Object {
    std::vector<PickleValue> items;  ///< elements; of a dict and a matrix: keys and values in turn
    std::string_view text;           ///< of strings, globals and dtypes
  };

  [[nodiscard]] const Object& object(PickleValue value) const {
    return objects_[static_cast<std::size_t>(value.number)];
  }
  [[nodiscard]] Result<Array> array_of(PickleValue value, std::string_view name) const;
  [[nodiscard]] Result<DType> dtype_of(PickleValue value, std::string_view name) const;
  [[nodiscard]] Result<std::vector<std::size_t>> shape_of(PickleValue value, std::string_view name) const;
  [[nodiscard]] Result<PickleValue> member(PickleValue matrix, std::string_view key) const;
  [[nodiscard]] Status ints_of(PickleValue value, std::vector<std::int64_t>& out) const;

  std::string where_;
  std::deque<Object> objects_;
  PickleValue root_;
};

template <class F>
Status Pickle::for_each_list(F f) const {
  if (root_.kind != PickleValue::Kind::kDict) {
    return invalid(where_, "not a dict of lists");
  }
  const std::vector<PickleValue>& items = object(root_).items;
  std::vector<std::int64_t> neighbours;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind != PickleValue::Kind::kInt) {
      return invalid(where_, "a key of the dict is not an integer");
    }
    RUDDER_TRY(ints_of(items[i + 1], neighbours));
    f(items[i].number, std::span<const std::int64_t>(neighbours));
  }
  return {};
}

}  // namespace rudder::graph

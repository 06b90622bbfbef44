// SPDX-License-Identifier: Apache-2.0
// NumPy `.npy` arrays: a bounded reader over mapped files or bytes, and a streaming writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/dtype.h"
#include "rudder/core/files.h"
#include "rudder/core/result.h"

namespace rudder::graph {

struct NpyHeader {
  DType dtype = DType::kF32;
  std::vector<std::size_t> shape;  ///< at most 8 dimensions; the element count was checked against overflow
  std::size_t data_offset = 0;     ///< where the elements begin

  [[nodiscard]] std::size_t elements() const noexcept;
};

/// Parses a version 1–3 header of a little-endian, C-order array. Fortran order (with more than one dimension
/// above 1), big-endian, object, string and structured types, headers over 64 KiB and data shorter than the
/// shape are errors that name `where` and the offending value. `file_bytes` may be longer than the data,
/// never shorter.
[[nodiscard]] Result<NpyHeader> parse_npy(std::span<const std::byte> file_bytes, const std::string& where);

/// A read-only array: a mapped `.npy` file, or one held in memory (an entry of an `.npz`).
class NpyArray {
 public:
  [[nodiscard]] static Result<NpyArray> open(const std::filesystem::path& path);
  [[nodiscard]] static Result<NpyArray> from_bytes(std::vector<std::byte> file_bytes, std::string where);

  [[nodiscard]] DType dtype() const noexcept { return header_.dtype; }
  [[nodiscard]] const std::vector<std::size_t>& shape() const noexcept { return header_.shape; }
  [[nodiscard]] std::size_t elements() const noexcept { return header_.elements(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;  ///< the elements
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  /// Of a mapped file: it will be read here and there.
  void advise_random() const noexcept { file_.advise_random(); }

  /// The elements as T without a copy. An error when the dtype is not T's or the array is not
  /// one-dimensional.
  template <class T>
  [[nodiscard]] Result<std::span<const T>> vector_of() const;
  /// Any integer type, checked and copied to 64 bits (u64 above 2^63-1 is an error). Any shape, C order.
  [[nodiscard]] Result<std::vector<std::int64_t>> to_int64() const;
  /// Any float or integer type, copied to f32. Any shape, C order.
  [[nodiscard]] Result<std::vector<float>> to_f32() const;

 private:
  NpyHeader header_;
  MappedFile file_;
  std::vector<std::byte> memory_;
  std::string where_;
};

extern template Result<std::span<const std::int64_t>> NpyArray::vector_of<std::int64_t>() const;
extern template Result<std::span<const std::uint32_t>> NpyArray::vector_of<std::uint32_t>() const;
extern template Result<std::span<const float>> NpyArray::vector_of<float>() const;

/// Writes one array of known shape to `path` (temporary name, fsync, rename). bf16, which NumPy does not
/// have, is written as u16; `graph.json` says what it is.
[[nodiscard]] Status write_npy(const std::filesystem::path& path, DType dtype,
                               std::span<const std::size_t> shape, std::span<const std::byte> elements);
[[nodiscard]] Status write_npy(const std::filesystem::path& path, std::span<const std::int64_t> values);

/// Streams rows into an array whose shape is known before.
class NpyWriter {
 public:
  [[nodiscard]] static Result<NpyWriter> create(const std::filesystem::path& path, DType dtype,
                                                std::span<const std::size_t> shape);
  [[nodiscard]] Status write(std::span<const std::byte> elements);
  /// An error when the bytes written are not exactly the shape's.
  [[nodiscard]] Status commit();

 private:
  explicit NpyWriter(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
  std::size_t expected_ = 0;
  std::size_t written_ = 0;
  std::string where_;
};

}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/npy.h"

#include <limits>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "rudder/core/machine.h"

#include "graph/elements.h"

namespace rudder::graph {
namespace {

/// NumPy aligns data to 64 bytes, so that mapped arrays can be read in place.
constexpr std::size_t kAlignment = 64;

std::string_view descr_of(DType type) {
  switch (type) {
    case DType::kF32:
      return "<f4";
    case DType::kF16:
      return "<f2";
    case DType::kBF16:
    case DType::kU16:
      return "<u2";
    case DType::kF64:
      return "<f8";
    case DType::kI32:
      return "<i4";
    case DType::kI64:
      return "<i8";
    case DType::kU8:
      return "|u1";
    case DType::kI8:
      return "|i1";
    case DType::kI16:
      return "<i2";
    case DType::kU32:
      return "<u4";
    case DType::kU64:
      return "<u8";
    case DType::kBool:
      return "|b1";
  }
  return "";
}

std::string header_text(DType dtype, std::span<const std::size_t> shape) {
  std::string extents;
  for (const std::size_t extent : shape) {
    extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent);
  }
  if (shape.size() == 1) {
    extents += ",";
  }
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(dtype), extents);
  constexpr std::size_t kPrefix = 10;
  const std::size_t total = (kPrefix + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  dict.append(total - kPrefix - dict.size() - 1, ' ');
  dict.push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(dict.size() & 0xff));
  header.push_back(static_cast<char>(dict.size() >> 8));
  return header + dict;
}

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return DType::kI64;
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return DType::kU32;
  } else {
    static_assert(std::is_same_v<T, float>);
    return DType::kF32;
  }
}

/// Bytes of an array of that shape, or an error when they overflow.
Result<std::size_t> byte_count(DType dtype, std::span<const std::size_t> shape, const std::string& where) {
  std::size_t bytes = size_of(dtype);
  for (const std::size_t extent : shape) {
    if (extent != 0 && bytes > std::numeric_limits<std::size_t>::max() / extent) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: shape ({}) has too many elements", where, fmt::join(shape, ", "))};
    }
    bytes *= extent;
  }
  return bytes;
}

}  // namespace

std::size_t NpyHeader::elements() const noexcept {
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    count *= extent;
  }
  return count;
}

Result<NpyArray> NpyArray::open(const std::filesystem::path& path) {
  NpyArray array;
  array.where_ = path.string();
  RUDDER_ASSIGN(array.file_, MappedFile::open(path));
  RUDDER_ASSIGN(array.header_, parse_npy(array.file_.bytes(), array.where_));
  if (array.header_.data_offset % size_of(array.header_.dtype) != 0) {
    // Old writers did not pad the header: the elements cannot be read in place.
    const auto elements = array.bytes();
    if (elements.size() > available_memory_bytes() / 2) {
      return Error{
          Errc::kResource,
          fmt::format("{}: the data begins at byte {}, which is not a multiple of the element size, and "
                      "{} bytes are too many to copy; save the array again",
                      array.where_, array.header_.data_offset, elements.size())};
    }
    array.memory_.assign(elements.begin(), elements.end());
    array.header_.data_offset = 0;
    array.file_ = MappedFile();
  }
  return array;
}

Result<NpyArray> NpyArray::from_bytes(std::vector<std::byte> file_bytes, std::string where) {
  NpyArray array;
  array.where_ = std::move(where);
  RUDDER_ASSIGN(array.header_, parse_npy(file_bytes, array.where_));
  array.memory_ = std::move(file_bytes);
  const std::size_t offset = array.header_.data_offset;
  if (offset % size_of(array.header_.dtype) != 0) {
    array.memory_.erase(array.memory_.begin(), array.memory_.begin() + static_cast<std::ptrdiff_t>(offset));
    array.header_.data_offset = 0;
  }
  return array;
}

std::span<const std::byte> NpyArray::bytes() const noexcept {
  const std::span<const std::byte> all = memory_.empty() ? file_.bytes() : std::span(memory_);
  const std::size_t size = all.empty() ? 0 : elements() * size_of(header_.dtype);
  return all.subspan(all.empty() ? 0 : header_.data_offset, size);
}

template <class T>
Result<std::span<const T>> NpyArray::vector_of() const {
  if (dtype() != dtype_of<T>() || shape().size() != 1) {
    return Error{Errc::kInvalidData,
                 fmt::format("{}: a {} array of shape ({}); one dimension of {} is needed", where_,
                             name_of(dtype()), fmt::join(shape(), ", "), name_of(dtype_of<T>()))};
  }
  // The elements are aligned: open() and from_bytes() copied them where the file did not align them.
  const void* data = bytes().data();
  return std::span<const T>(static_cast<const T*>(data), elements());
}

template Result<std::span<const std::int64_t>> NpyArray::vector_of<std::int64_t>() const;
template Result<std::span<const std::uint32_t>> NpyArray::vector_of<std::uint32_t>() const;
template Result<std::span<const float>> NpyArray::vector_of<float>() const;

Result<std::vector<std::int64_t>> NpyArray::to_int64() const {
  return elements_to_int64(dtype(), bytes(), where_);
}

Result<std::vector<float>> NpyArray::to_f32() const {
  return elements_to_f32(dtype(), bytes());
}

Status write_npy(const std::filesystem::path& path, DType dtype, std::span<const std::size_t> shape,
                 std::span<const std::byte> elements) {
  RUDDER_ASSIGN(NpyWriter writer, NpyWriter::create(path, dtype, shape));
  RUDDER_TRY(writer.write(elements));
  return writer.commit();
}

Status write_npy(const std::filesystem::path& path, std::span<const std::int64_t> values) {
  const std::size_t count = values.size();
  return write_npy(path, DType::kI64, std::span(&count, 1), std::as_bytes(values));
}

Result<NpyWriter> NpyWriter::create(const std::filesystem::path& path, DType dtype,
                                    std::span<const std::size_t> shape) {
  RUDDER_ASSIGN(const std::size_t expected, byte_count(dtype, shape, path.string()));
  RUDDER_ASSIGN(AtomicFile file, AtomicFile::create(path));
  NpyWriter writer(std::move(file));
  writer.expected_ = expected;
  writer.where_ = path.string();
  RUDDER_TRY(writer.file_.write(header_text(dtype, shape)));
  return writer;
}

Status NpyWriter::write(std::span<const std::byte> elements) {
  if (elements.size() > expected_ - written_) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: {} bytes written after {} of {}", where_,
                                                     elements.size(), written_, expected_)};
  }
  written_ += elements.size();
  return file_.write(elements);
}

Status NpyWriter::commit() {
  if (written_ != expected_) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: {} bytes written of the shape's {}", where_, written_, expected_)};
  }
  return file_.commit();
}

}  // namespace rudder::graph

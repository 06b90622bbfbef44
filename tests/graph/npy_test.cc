// SPDX-License-Identifier: Apache-2.0
#include "rudder/graph/npy.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"

namespace rudder::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A file as NumPy would write it, with `dict` taken as it is.
std::string npy(std::string_view dict, std::string_view data, int major = 1) {
  std::string file("\x93NUMPY", 6);
  file.push_back(static_cast<char>(major));
  file.push_back('\0');
  const std::size_t length = dict.size();
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file.push_back(static_cast<char>((length >> (8 * i)) & 0xff));
  }
  file += dict;
  file += data;
  return file;
}

std::string error_of(std::string_view file) {
  const auto header = parse_npy(to_bytes(file), "x.npy");
  return header.ok() ? "no error" : header.error().message;
}

TEST(Npy, ReadsHeadersOfAllThreeVersions) {
  for (const int major : {1, 2, 3}) {
    const std::string file =
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }  \n", std::string(8, '\1'), major);
    const auto header = parse_npy(to_bytes(file), "x.npy");
    ASSERT_TRUE(header.ok()) << header.error().message;
    EXPECT_EQ(header->dtype, DType::kI32);
    EXPECT_THAT(header->shape, ElementsAre(2, 1));
    EXPECT_EQ(header->data_offset, file.size() - 8);
  }
}

TEST(Npy, AcceptsKeysInAnyOrderAndOldLongIntegers) {
  const auto header =
      parse_npy(to_bytes(npy(R"({"shape":(3L,),"fortran_order":False,"descr":"|u1"})", "abc")), "x.npy");
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_THAT(header->shape, ElementsAre(3));
}

TEST(Npy, AcceptsScalarsAndEmptyArrays) {
  const auto scalar = parse_npy(
      to_bytes(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "12345678")), "x.npy");
  ASSERT_TRUE(scalar.ok()) << scalar.error().message;
  EXPECT_EQ(scalar->elements(), 1U);
  const auto empty =
      parse_npy(to_bytes(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7), }", "")), "x.npy");
  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_EQ(empty->elements(), 0U);
}

TEST(Npy, RefusesWhatItCannotReadByName) {
  const auto with = [](std::string_view descr, std::string_view order, std::string_view shape) {
    return error_of(
        npy(fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, order, shape),
            std::string(64, 'x')));
  };
  EXPECT_EQ(with("'<f4'", "False", "(2, 3)"), "no error");
  EXPECT_EQ(with("'<f4'", "True", "(1, 3)"), "no error");
  EXPECT_THAT(with("'<f4'", "True", "(2, 3)"), HasSubstr("Fortran order"));
  EXPECT_THAT(with("'>f4'", "False", "(2,)"), HasSubstr("big-endian dtype '>f4'"));
  EXPECT_THAT(with("'|O'", "False", "(2,)"), HasSubstr("Python objects"));
  EXPECT_THAT(with("'<U5'", "False", "(2,)"), HasSubstr("strings"));
  EXPECT_THAT(with("'|S5'", "False", "(2,)"), HasSubstr("strings"));
  EXPECT_THAT(with("[('a', '<f4')]", "False", "(2,)"), HasSubstr("structured"));
  EXPECT_THAT(with("'<c8'", "False", "(2,)"), HasSubstr("dtype '<c8'"));
  EXPECT_THAT(with("'<f4'", "0", "(2,)"), HasSubstr("fortran_order"));
  EXPECT_THAT(with("'<f4'", "False", "(2)"), HasSubstr("not a tuple"));
  EXPECT_THAT(with("'<f4'", "False", "(-2,)"), HasSubstr("not a number"));
  EXPECT_THAT(with("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), HasSubstr("more than 8 dimensions"));
  EXPECT_THAT(with("'<f4'", "False", "(17,)"), HasSubstr("needs 68 bytes, but 64 follow"));
}

TEST(Npy, RefusesShapesWhoseSizeOverflows) {
  const auto with = [](std::string_view shape) {
    return error_of(npy(fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}", shape), ""));
  };
  EXPECT_THAT(with("(4294967296, 4294967296)"), HasSubstr("too many elements"));
  EXPECT_THAT(with("(2305843009213693952,)"), HasSubstr("too many elements"));
  EXPECT_THAT(with("(18446744073709551616,)"), HasSubstr("over 2^64"));
  EXPECT_THAT(with("(0, 9223372036854775807, 9223372036854775807)"), HasSubstr("too many elements"));
}

TEST(Npy, RefusesMalformedHeaders) {
  EXPECT_THAT(error_of(""), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of("PK\3\4 not an array"), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of(npy("{}", "")), HasSubstr("is missing"));
  EXPECT_THAT(error_of(npy("{'descr': '<f4', 'descr': '<f4'}", "")), HasSubstr("unknown or repeated"));
  EXPECT_THAT(error_of(npy("{'evil': __import__('os')}", "")), HasSubstr("key 'evil'"));
  EXPECT_THAT(error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0,)} x", "")),
              HasSubstr("after the closing brace"));
  EXPECT_THAT(error_of(npy("{'descr: <f4", "")), HasSubstr("does not end"));
  EXPECT_THAT(error_of(npy(std::string(70000, ' '), "", 2)), HasSubstr("70000 bytes, more than 65536"));
  EXPECT_THAT(error_of(npy("{}", "", 4)), HasSubstr("version 4"));
}

TEST(Npy, RefusesEveryTruncation) {
  const std::string file =
      npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n", std::string(16, 'x'));
  ASSERT_EQ(error_of(file), "no error");
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(parse_npy(to_bytes(file.substr(0, size)), "x.npy").ok()) << size;
  }
}

TEST(Npy, SurvivesEveryFlippedByte) {
  const std::string file =
      npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n", std::string(16, 'x'));
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const int flip : {1, 0x10, 0x80, 0xff}) {
      std::string bad = file;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      const auto header = parse_npy(to_bytes(bad), "x.npy");
      if (header.ok()) {
        EXPECT_LE(header->data_offset + header->elements() * size_of(header->dtype), bad.size());
      }
    }
  }
}

TEST(NpyArray, ReadsBackWhatWasWritten) {
  const auto directory = TemporaryDirectory::create("npy").value();
  const auto path = directory.path() / "a.npy";
  const std::vector<std::int64_t> values = {3, -1, std::numeric_limits<std::int64_t>::max()};
  ASSERT_TRUE(write_npy(path, values).ok());
  const auto array = NpyArray::open(path);
  ASSERT_TRUE(array.ok()) << array.error().message;
  const auto view = array->vector_of<std::int64_t>();
  ASSERT_TRUE(view.ok());
  EXPECT_THAT(std::vector(view->begin(), view->end()),
              ElementsAre(3, -1, std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array->bytes().data()) % 64, 0U);
  EXPECT_FALSE(array->vector_of<float>().ok());
}

TEST(NpyArray, ReadsElementsThatTheFileDoesNotAlign) {
  const std::vector<std::int64_t> values = {5, 6};
  const std::string data(reinterpret_cast<const char*>(values.data()), 16);
  const std::string dict = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
  for (const std::size_t padding : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
    const std::string file = npy(dict + std::string(padding, ' '), data);
    const auto memory = NpyArray::from_bytes(to_bytes(file), "memory");
    ASSERT_TRUE(memory.ok()) << memory.error().message;
    EXPECT_THAT(
        std::vector(memory->vector_of<std::int64_t>()->begin(), memory->vector_of<std::int64_t>()->end()),
        ElementsAre(5, 6));
    const auto directory = TemporaryDirectory::create("npy").value();
    ASSERT_TRUE(write_text(directory.path() / "a.npy", file).ok());
    const auto mapped = NpyArray::open(directory.path() / "a.npy");
    ASSERT_TRUE(mapped.ok()) << mapped.error().message;
    EXPECT_THAT(
        std::vector(mapped->vector_of<std::int64_t>()->begin(), mapped->vector_of<std::int64_t>()->end()),
        ElementsAre(5, 6));
  }
}

template <class T>
NpyArray array_of(std::string_view descr, const std::vector<T>& values) {
  const std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", descr, values.size());
  const std::string_view data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return NpyArray::from_bytes(to_bytes(npy(dict, data)), "x.npy").value();
}

TEST(NpyArray, ConvertsEveryIntegerType) {
  EXPECT_THAT(array_of<std::int8_t>("|i1", {-3, 4}).to_int64().value(), ElementsAre(-3, 4));
  EXPECT_THAT(array_of<std::uint8_t>("|u1", {200}).to_int64().value(), ElementsAre(200));
  EXPECT_THAT(array_of<std::int16_t>("<i2", {-300}).to_int64().value(), ElementsAre(-300));
  EXPECT_THAT(array_of<std::uint16_t>("<u2", {65535}).to_int64().value(), ElementsAre(65535));
  EXPECT_THAT(array_of<std::int32_t>("<i4", {-70000}).to_int64().value(), ElementsAre(-70000));
  EXPECT_THAT(array_of<std::uint32_t>("<u4", {4000000000U}).to_int64().value(), ElementsAre(4000000000));
  EXPECT_THAT(array_of<std::uint8_t>("|b1", {0, 1, 7}).to_int64().value(), ElementsAre(0, 1, 1));
  EXPECT_FALSE(array_of<std::uint64_t>("<u8", {std::uint64_t{1} << 63}).to_int64().ok());
  EXPECT_FALSE(array_of<float>("<f4", {1}).to_int64().ok());
}

TEST(NpyArray, ConvertsEveryFloatType) {
  EXPECT_THAT(array_of<float>("<f4", {1.5F}).to_f32().value(), ElementsAre(1.5F));
  EXPECT_THAT(array_of<double>("<f8", {-2.25}).to_f32().value(), ElementsAre(-2.25F));
  EXPECT_THAT(array_of<std::uint16_t>("<f2", {0x3c00}).to_f32().value(), ElementsAre(1.0F));
  EXPECT_THAT(array_of<std::int8_t>("|i1", {-1}).to_f32().value(), ElementsAre(-1.0F));
}

TEST(NpyWriter, RefusesMoreOrFewerBytesThanTheShape) {
  const auto directory = TemporaryDirectory::create("npy").value();
  const std::vector<std::size_t> shape = {2, 2};
  const std::vector<std::byte> half(8);
  auto writer = NpyWriter::create(directory.path() / "a.npy", DType::kF32, shape);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->write(half).ok());
  EXPECT_THAT(writer->commit().error().message, HasSubstr("8 bytes written of the shape's 16"));
  ASSERT_TRUE(writer->write(half).ok());
  EXPECT_FALSE(writer->write(half).ok());
  EXPECT_TRUE(writer->commit().ok());
  EXPECT_THAT(NpyArray::open(directory.path() / "a.npy")->shape(), ElementsAre(2, 2));
}

TEST(NpyWriter, RefusesAShapeThatOverflows) {
  const auto directory = TemporaryDirectory::create("npy").value();
  const std::vector<std::size_t> shape = {std::size_t{1} << 40, std::size_t{1} << 40};
  EXPECT_FALSE(NpyWriter::create(directory.path() / "a.npy", DType::kF32, shape).ok());
}

}  // namespace
}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
// The `.npy` header: a magic, a version, a length and a Python dict literal with exactly three keys.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "rudder/graph/npy.h"

namespace rudder::graph {
namespace {

constexpr std::size_t kMaxHeader = std::size_t{64} << 10;
constexpr std::size_t kMaxDimensions = 8;
constexpr std::string_view kMagic = "\x93NUMPY";

struct Dict {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::size_t>> shape;
};

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, keys in any order, nothing else.
class DictParser {
 public:
  DictParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Result<Dict> parse() {
    Dict dict;
    RUDDER_TRY(expect('{'));
    while (!accept('}')) {
      RUDDER_ASSIGN(const std::string_view key, quoted());
      RUDDER_TRY(expect(':'));
      RUDDER_TRY(read_value(key, dict));
      if (!accept(',')) {
        RUDDER_TRY(expect('}'));
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) {
      return fail("text after the closing brace");
    }
    if (!dict.descr || !dict.fortran_order || !dict.shape) {
      return fail("'descr', 'fortran_order' or 'shape' is missing");
    }
    return dict;
  }

 private:
  Status read_value(std::string_view key, Dict& dict) {
    if (key == "descr" && !dict.descr) {
      skip_space();
      if (position_ < text_.size() && text_[position_] == '[') {
        return Error{Errc::kUnsupported, where_ + ": a structured array; only plain numbers are read"};
      }
      RUDDER_ASSIGN(dict.descr, quoted());
      return {};
    }
    if (key == "fortran_order" && !dict.fortran_order) {
      skip_space();
      for (const bool value : {false, true}) {
        const std::string_view word = value ? "True" : "False";
        if (text_.substr(position_).starts_with(word)) {
          position_ += word.size();
          dict.fortran_order = value;
          return {};
        }
      }
      return fail("fortran_order is neither True nor False");
    }
    if (key == "shape" && !dict.shape) {
      return read_shape(dict.shape.emplace());
    }
    return fail(fmt::format("key '{}' is unknown or repeated", key.substr(0, 40)));
  }

  Status read_shape(std::vector<std::size_t>& shape) {
    RUDDER_TRY(expect('('));
    while (!accept(')')) {
      if (shape.size() == kMaxDimensions) {
        return fail(fmt::format("more than {} dimensions", kMaxDimensions));
      }
      RUDDER_ASSIGN(const std::size_t extent, number());
      shape.push_back(extent);
      if (!accept(',')) {
        // (5) is a number in Python, not a tuple.
        if (shape.size() == 1) {
          return fail("the shape is not a tuple");
        }
        RUDDER_TRY(expect(')'));
        break;
      }
    }
    return {};
  }

  Result<std::size_t> number() {
    skip_space();
    const std::size_t begin = position_;
    std::uint64_t value = 0;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      const auto digit = static_cast<std::uint64_t>(text_[position_] - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) {
        return fail("an extent over 2^64");
      }
      value = value * 10 + digit;
      ++position_;
    }
    if (position_ == begin) {
      return fail("an extent is not a number");
    }
    // Python 2 wrote long integers as 5L.
    if (position_ < text_.size() && text_[position_] == 'L') {
      ++position_;
    }
    return static_cast<std::size_t>(value);
  }

  Result<std::string_view> quoted() {
    skip_space();
    if (position_ >= text_.size() || (text_[position_] != '\'' && text_[position_] != '"')) {
      return fail("a quoted word is missing");
    }
    const std::size_t end = text_.find(text_[position_], position_ + 1);
    if (end == std::string_view::npos) {
      return fail("a quoted word does not end");
    }
    const std::string_view word = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return word;
  }

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
      ++position_;
    }
  }
  bool accept(char c) {
    skip_space();
    if (position_ < text_.size() && text_[position_] == c) {
      ++position_;
      return true;
    }
    return false;
  }
  Status expect(char c) { return accept(c) ? Status() : Status(fail(fmt::format("'{}' is missing", c))); }
  Error fail(std::string_view what) const {
    return {Errc::kInvalidData,
            fmt::format("{}: npy header, byte {} of the dict: {}", where_, position_, what)};
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t position_ = 0;
};

std::optional<DType> dtype_from_kind(std::string_view kind) {
  struct Name {
    std::string_view kind;
    DType type;
  };
  constexpr std::array<Name, 12> kNames = {{{"f4", DType::kF32},
                                            {"f2", DType::kF16},
                                            {"f8", DType::kF64},
                                            {"i4", DType::kI32},
                                            {"i8", DType::kI64},
                                            {"u1", DType::kU8},
                                            {"i1", DType::kI8},
                                            {"i2", DType::kI16},
                                            {"u2", DType::kU16},
                                            {"u4", DType::kU32},
                                            {"u8", DType::kU64},
                                            {"b1", DType::kBool}}};
  for (const Name& name : kNames) {
    if (name.kind == kind) {
      return name.type;
    }
  }
  return std::nullopt;
}

/// '<f4' → f32. One-byte types have no byte order and are written with '|'.
Result<DType> dtype_from_descr(std::string_view descr, const std::string& where) {
  const std::string_view shown = descr.substr(0, 40);
  if (descr.size() >= 2) {
    const std::optional<DType> type = dtype_from_kind(descr.substr(1));
    if (type && descr[0] == '>' && size_of(*type) > 1) {
      return Error{Errc::kUnsupported, fmt::format("{}: big-endian dtype '{}'", where, shown)};
    }
    if (type && (descr[0] == '<' || (descr[0] == '|' && size_of(*type) == 1))) {
      return *type;
    }
    if (descr[1] == 'O') {
      return Error{
          Errc::kUnsupported,
          fmt::format("{}: dtype '{}' holds Python objects; only plain numbers are read", where, shown)};
    }
    if (descr[1] == 'S' || descr[1] == 'U' || descr[1] == 'a') {
      return Error{Errc::kUnsupported,
                   fmt::format("{}: dtype '{}' holds strings; only plain numbers are read", where, shown)};
    }
  }
  return Error{Errc::kUnsupported, fmt::format("{}: dtype '{}' is not read", where, shown)};
}

/// Where the dict begins and ends.
Result<std::pair<std::size_t, std::size_t>> find_dict(std::span<const std::byte> bytes,
                                                      const std::string& where) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return Error{Errc::kInvalidData, where + ": not a .npy file"};
  }
  const auto major = std::to_integer<unsigned>(bytes[6]);
  if (major < 1 || major > 3) {
    return Error{Errc::kUnsupported, fmt::format("{}: npy version {}; 1 to 3 are read", where, major)};
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) {
    return Error{Errc::kInvalidData,
                 fmt::format("{}: ends after {} bytes, in the header", where, bytes.size())};
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::to_integer<std::size_t>(bytes[8 + i]) << (8 * i);
  }
  if (length > kMaxHeader) {
    return Error{Errc::kInvalidData,
                 fmt::format("{}: header of {} bytes, more than {} allowed", where, length, kMaxHeader)};
  }
  if (length > bytes.size() - begin) {
    return Error{Errc::kInvalidData,
                 fmt::format("{}: ends after {} bytes, in the header", where, bytes.size())};
  }
  return std::pair(begin, begin + length);
}

}  // namespace

Result<NpyHeader> parse_npy(std::span<const std::byte> file_bytes, const std::string& where) {
  RUDDER_ASSIGN(const auto range, find_dict(file_bytes, where));
  const auto [begin, end] = range;
  const std::string_view text(reinterpret_cast<const char*>(file_bytes.data()) + begin, end - begin);
  RUDDER_ASSIGN(const Dict dict, DictParser(text, where).parse());
  NpyHeader header;
  RUDDER_ASSIGN(header.dtype, dtype_from_descr(*dict.descr, where));
  header.shape = *dict.shape;
  header.data_offset = end;
  const auto wide = [](std::size_t extent) { return extent > 1; };
  const bool empty = std::find(header.shape.begin(), header.shape.end(), 0U) != header.shape.end();
  if (*dict.fortran_order && !empty && std::count_if(header.shape.begin(), header.shape.end(), wide) > 1) {
    return Error{Errc::kUnsupported, where + ": in Fortran order; save it as np.ascontiguousarray(array)"};
  }
  std::size_t count = 1;
  for (const std::size_t extent : header.shape) {
    // Also bounded when another extent is 0, so that products of some of the extents never overflow.
    if (extent > 0 && count > std::numeric_limits<std::size_t>::max() / extent / 8) {
      return Error{Errc::kInvalidData,
                   fmt::format("{}: shape ({}) has too many elements", where, fmt::join(header.shape, ", "))};
    }
    count *= std::max<std::size_t>(extent, 1);
  }
  const std::size_t needed = header.elements() * size_of(header.dtype);
  if (needed > file_bytes.size() - end) {
    return Error{
        Errc::kInvalidData,
        fmt::format("{}: shape ({}) of {} needs {} bytes, but {} follow the header", where,
                    fmt::join(header.shape, ", "), name_of(header.dtype), needed, file_bytes.size() - end)};
  }
  return header;
}

}  // namespace rudder::graph

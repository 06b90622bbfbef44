// SPDX-License-Identifier: Apache-2.0
// Writers of the formats that the importers read, small and independent of the readers.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zip.h>
#include <zlib.h>

#include "rudder/core/files.h"
#include "rudder/graph/importers.h"

#include "graph/graph_helpers.h"

namespace rudder::graph::testing_support {

inline TemporaryDirectory temporary() {
  return TemporaryDirectory::create("import").value();
}

inline void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  // A new file, for some file systems flush one that is truncated and written again to the disk.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_gzip(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  if (!content.empty()) {
    ASSERT_EQ(gzwrite(file, content.data(), static_cast<unsigned>(content.size())),
              static_cast<int>(content.size()));
  }
  ASSERT_EQ(gzclose(file), Z_OK);
}

/// The little-endian bytes of a number.
template <class T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}
template <class T>
std::string raw_all(const std::vector<T>& values) {
  std::string out;
  for (const T value : values) {
    out += raw(value);
  }
  return out;
}

/// A version-1 `.npy` file.
inline std::string npy(std::string_view descr, std::string_view shape, std::string_view data) {
  const std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n", descr, shape);
  return std::string("\x93NUMPY\x01\x00", 8) + raw(static_cast<std::uint16_t>(dict.size())) + dict +
         std::string(data);
}

struct ZipEntry {
  std::string name;
  std::string content;
  bool deflate = true;
};

inline void write_zip(const std::filesystem::path& path, const std::vector<ZipEntry>& entries) {
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_NE(archive, nullptr) << code;
  for (const ZipEntry& entry : entries) {
    zip_source_t* source = zip_source_buffer(archive, entry.content.data(), entry.content.size(), 0);
    const std::int64_t index = zip_file_add(archive, entry.name.c_str(), source, ZIP_FL_ENC_UTF_8);
    ASSERT_GE(index, 0) << entry.name;
    ASSERT_EQ(zip_set_file_compression(archive, static_cast<std::uint64_t>(index),
                                       entry.deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0),
              0);
  }
  ASSERT_EQ(zip_close(archive), 0) << zip_strerror(archive);
}

/// The message of a failed import, "no error" otherwise.
inline std::string import_error(ImportFormat format, const std::filesystem::path& source,
                                const ImportOptions& options = {}) {
  const auto data = import_graph(format, source, options);
  return data.ok() ? "no error" : data.error().message;
}

inline std::string origin_of(const GraphData& data, std::string_view key) {
  for (const auto& [name, value] : data.origin) {
    if (name == key) {
      return value;
    }
  }
  return "(absent)";
}

inline std::vector<NodeId> neighbors_of(const GraphData& data, NodeId node) {
  const auto list = CscView{data.indptr, data.indices}.neighbors(node);
  return {list.begin(), list.end()};
}

/// Imports every proper prefix of `file` in place; none may succeed. The file is restored.
inline void expect_no_truncation_imports(ImportFormat format, const std::filesystem::path& file,
                                         const std::filesystem::path& source, std::size_t step = 1) {
  const std::string whole = read_file(file);
  for (std::size_t size = 0; size < whole.size(); size += step) {
    write_file(file, std::string_view(whole).substr(0, size));
    EXPECT_FALSE(import_graph(format, source, {}).ok()) << file << " cut to " << size << " bytes";
  }
  write_file(file, whole);
}

/// Imports the file with each byte changed in turn: it must not crash, hang or give an invalid graph.
inline void expect_survives_flips(ImportFormat format, const std::filesystem::path& file,
                                  const std::filesystem::path& source, std::size_t step = 1) {
  const std::string whole = read_file(file);
  ImportOptions options;
  options.memory_limit = std::size_t{64} << 20;
  for (std::size_t i = 0; i < whole.size(); i += step) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      write_file(file, bad);
      const auto data = import_graph(format, source, options);
      if (data.ok()) {
        const auto nodes = static_cast<NodeId>(data->indptr.size()) - 1;
        EXPECT_TRUE(validate_csc({data->indptr, data->indices}, nodes, "flipped").ok());
        EXPECT_EQ(data->labels.size() + data->label_rows.size(),
                  static_cast<std::size_t>(nodes) *
                      (data->label_rows.empty() ? 1 : static_cast<std::size_t>(data->classes)));
        EXPECT_EQ(data->rows.size(), static_cast<std::size_t>(nodes) * data->features * size_of(data->dtype));
      }
    }
  }
  write_file(file, whole);
}

}  // namespace rudder::graph::testing_support

// SPDX-License-Identifier: Apache-2.0
// Partition folders of small graphs, and ways to change their files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/graph/npy.h"
#include "rudder/graph/partition.h"

#include "graph/partition_helpers.h"

namespace rudder::graph {

inline PartitionOptions by(PartitionMethod method, PartId parts = 4) {
  PartitionOptions options;
  options.method = method;
  options.parts = parts;
  return options;
}

/// A graph and its partition folder.
struct Cut {
  explicit Cut(const GraphData& data, const PartitionOptions& options = {})
      : source(data), folder(temporary()) {
    auto made = partition_graph(source.graph(), options, path(), {});
    EXPECT_TRUE(made.ok()) << made.error().message;
    report = std::move(made).value();
  }
  [[nodiscard]] std::filesystem::path path() const { return folder.path() / "parts"; }
  [[nodiscard]] PartitionedGraph open() const {
    auto opened = PartitionedGraph::open(path());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return std::move(opened).value();
  }

  StoredGraph source;
  TemporaryDirectory folder;
  PartitionReport report;
};

inline std::string contents(const std::filesystem::path& path) {
  auto text = read_text(path);
  EXPECT_TRUE(text.ok()) << text.error().message;
  return std::move(text).value();
}

using Path = std::filesystem::path;

inline void replace_in(const std::filesystem::path& path, const std::string& from, const std::string& to) {
  std::string text = contents(path);
  const std::size_t place = text.find(from);
  ASSERT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
  ASSERT_TRUE(write_text(path, text).ok());
}

inline void change_element(const std::filesystem::path& path, std::size_t index, std::int64_t value) {
  auto array = NpyArray::open(path);
  ASSERT_TRUE(array.ok()) << array.error().message;
  auto values = array->to_int64().value();
  values.at(index) = value;
  ASSERT_TRUE(write_npy(path, values).ok());
}

inline void shorten(const std::filesystem::path& path) {
  auto values = NpyArray::open(path).value().to_int64().value();
  values.pop_back();
  ASSERT_TRUE(write_npy(path, values).ok());
}

}  // namespace rudder::graph

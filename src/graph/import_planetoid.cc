// SPDX-License-Identifier: Apache-2.0
// Planetoid sets: ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index}.
#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/text.h"

#include "graph/elements.h"
#include "graph/import_common.h"
#include "graph/pickle.h"
#include "graph/text_lines.h"

namespace rudder::graph {
namespace {

namespace fs = std::filesystem;

/// Nodes after the training nodes that make up the validation split.
constexpr std::size_t kValidation = 500;
constexpr std::string_view kTestSuffix = ".test.index";

/// The common prefix `…/ind.NAME` of the files.
Result<fs::path> find_prefix(const fs::path& source) {
  std::error_code error;
  if (!fs::is_directory(source, error)) {
    return source;
  }
  std::set<std::string> names;
  for (fs::directory_iterator it(source, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("ind.") && name.ends_with(kTestSuffix)) {
      names.insert(name.substr(0, name.size() - kTestSuffix.size()));
    }
  }
  if (error) {
    return Error{Errc::kIo, fmt::format("{}: {}", source.string(), error.message())};
  }
  if (names.size() != 1) {
    return Error{names.empty() ? Errc::kNotFound : Errc::kInvalidArgument,
                 names.empty() ? fmt::format("{}: no ind.NAME{} in it", source.string(), kTestSuffix)
                               : fmt::format("{}: several sets ({}); name one as FOLDER/ind.NAME",
                                             source.string(), fmt::join(names, ", "))};
  }
  return source / *names.begin();
}

fs::path file_of(const fs::path& prefix, std::string_view suffix) {
  fs::path path = prefix;
  path += suffix;
  return path;
}

Result<SparseRows> read_matrix(const fs::path& path, std::size_t limit) {
  RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
  RUDDER_ASSIGN(const Pickle pickle, Pickle::parse(file.bytes(), path.string(), limit));
  return pickle.matrix();
}

/// One-hot rows to classes; a row of zeros is -1. `classes` gets the number of columns.
Result<std::vector<std::int64_t>> read_one_hot(const fs::path& path, std::size_t limit,
                                               std::size_t& classes) {
  const std::string where = path.string();
  RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
  RUDDER_ASSIGN(const Pickle pickle, Pickle::parse(file.bytes(), where, limit));
  RUDDER_ASSIGN(const Pickle::Array array, pickle.array());
  if (array.shape.size() != 2 || array.shape[1] == 0) {
    return invalid(where, fmt::format("shape ({}), one-hot rows are expected", fmt::join(array.shape, ", ")));
  }
  const std::vector<float> values = elements_to_f32(array.dtype, array.bytes);
  classes = array.shape[1];
  std::vector<std::int64_t> labels(array.shape[0], -1);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    for (std::size_t column = 0; column < classes; ++column) {
      const float value = values[row * classes + column];
      if (value == 0.0F) {
        continue;
      }
      if (value != 1.0F || labels[row] != -1) {
        return invalid(where, fmt::format("row {} is not one-hot", row));
      }
      labels[row] = static_cast<std::int64_t>(column);
    }
  }
  return labels;
}

Result<std::vector<std::int64_t>> read_test_index(const fs::path& path) {
  RUDDER_ASSIGN(LineReader reader, LineReader::open(path));
  std::vector<std::int64_t> ids;
  std::string_view line;
  while (reader.next(line)) {
    const auto id = parse_int(line);
    // Node ids are 32-bit in the other files.
    if (!id || *id < 0 || *id > 0x7fffffff) {
      return reader.error_at(line, "a node id is expected");
    }
    ids.push_back(*id);
  }
  RUDDER_TRY(reader.status());
  if (ids.empty()) {
    return invalid(path.string(), "no test node");
  }
  return ids;
}

Result<EdgeList> read_lists(const fs::path& path, std::size_t limit) {
  RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
  RUDDER_ASSIGN(const Pickle pickle, Pickle::parse(file.bytes(), path.string(), limit));
  EdgeList edges;
  RUDDER_TRY(pickle.for_each_list([&](std::int64_t node, std::span<const std::int64_t> neighbours) {
    for (const std::int64_t neighbour : neighbours) {
      edges.add(node, neighbour);
    }
  }));
  return edges;
}

struct Parts {
  SparseRows x, tx, allx;
  std::vector<std::int64_t> y, ty, ally;
  std::size_t classes = 0;
  std::vector<std::int64_t> test_index;
};

Result<Parts> read_parts(const fs::path& prefix, std::size_t limit) {
  Parts parts;
  RUDDER_ASSIGN(parts.test_index, read_test_index(file_of(prefix, kTestSuffix)));
  RUDDER_ASSIGN(parts.x, read_matrix(file_of(prefix, ".x"), limit));
  RUDDER_ASSIGN(parts.tx, read_matrix(file_of(prefix, ".tx"), limit));
  RUDDER_ASSIGN(parts.allx, read_matrix(file_of(prefix, ".allx"), limit));
  std::size_t classes_y = 0;
  std::size_t classes_ty = 0;
  RUDDER_ASSIGN(parts.y, read_one_hot(file_of(prefix, ".y"), limit, classes_y));
  RUDDER_ASSIGN(parts.ty, read_one_hot(file_of(prefix, ".ty"), limit, classes_ty));
  RUDDER_ASSIGN(parts.ally, read_one_hot(file_of(prefix, ".ally"), limit, parts.classes));
  const std::string where = prefix.string();
  if (parts.x.columns != parts.allx.columns || parts.tx.columns != parts.allx.columns) {
    return invalid(where, fmt::format("x, tx and allx have {}, {} and {} columns", parts.x.columns,
                                      parts.tx.columns, parts.allx.columns));
  }
  if (classes_y != parts.classes || classes_ty != parts.classes) {
    return invalid(where, fmt::format("y, ty and ally have {}, {} and {} classes", classes_y, classes_ty,
                                      parts.classes));
  }
  if (parts.allx.rows != parts.ally.size() || parts.x.rows != parts.y.size() ||
      parts.tx.rows != parts.ty.size() || parts.tx.rows != parts.test_index.size()) {
    return invalid(
        where, fmt::format("rows disagree: x {}, y {}; allx {}, ally {}; tx {}, ty {}, test.index {}",
                           parts.x.rows, parts.y.size(), parts.allx.rows, parts.ally.size(), parts.tx.rows,
                           parts.ty.size(), parts.test_index.size()));
  }
  if (parts.y.size() > parts.ally.size() || !std::equal(parts.y.begin(), parts.y.end(), parts.ally.begin())) {
    return invalid(where, "y is not the beginning of ally");
  }
  return parts;
}

}  // namespace

Result<GraphData> import_planetoid(const fs::path& source, const ImportOptions& options) {
  const std::size_t limit = memory_limit_of(options);
  RUDDER_ASSIGN(const fs::path prefix, find_prefix(source));
  const std::string where = prefix.string();
  RUDDER_ASSIGN(Parts parts, read_parts(prefix, limit));
  RUDDER_ASSIGN(EdgeList edges, read_lists(file_of(prefix, ".graph"), limit));

  const auto [first, last] = std::minmax_element(parts.test_index.begin(), parts.test_index.end());
  const std::size_t labelled = parts.allx.rows;
  if (static_cast<std::size_t>(*first) < labelled) {
    return invalid(where, fmt::format("test node {} is also one of the {} nodes of allx", *first, labelled));
  }
  const std::size_t nodes = static_cast<std::size_t>(*last) + 1;
  GraphData data;
  RUDDER_TRY(allocate_rows(data, nodes, parts.allx.columns, limit, where));
  std::vector<std::int64_t> labels = std::move(parts.ally);
  labels.resize(nodes, -1);
  for (std::size_t v = 0; v < labelled; ++v) {
    add_sparse_row(parts.allx, v, data, static_cast<NodeId>(v));
  }
  RUDDER_TRY(set_split(data.test, parts.test_index, static_cast<NodeId>(nodes), where + ".test.index"));
  for (std::size_t i = 0; i < parts.test_index.size(); ++i) {
    labels[static_cast<std::size_t>(parts.test_index[i])] = parts.ty[i];
    add_sparse_row(parts.tx, i, data, parts.test_index[i]);
  }
  RUDDER_TRY(set_labels(data, std::move(labels), where));
  data.classes = static_cast<std::int64_t>(parts.classes);
  const std::size_t train = parts.y.size();
  const std::size_t val_end = std::min(train + kValidation, labelled);
  for (std::size_t v = 0; v < val_end; ++v) {
    (v < train ? data.train : data.val).push_back(static_cast<NodeId>(v));
  }
  data.origin = {
      {"source", "planetoid: " + base_name(prefix)},
      {"entries_listed", std::to_string(edges.source.size())},
      {"split", fmt::format("the first {} nodes, the next {}, test.index", train, val_end - train)},
      {"nodes_without_label_or_features", std::to_string(nodes - labelled - parts.test_index.size())}};
  RUDDER_TRY(set_structure(data, static_cast<NodeId>(nodes), std::move(edges), where));
  return data;
}

}  // namespace rudder::graph

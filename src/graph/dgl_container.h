// SPDX-License-Identifier: Apache-2.0
// DGL's binary files: tensor files (node_feat.dgl) and version-2 graph files (graph.dgl).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/dtype.h"
#include "rudder/core/result.h"

namespace rudder::graph {

/// A CPU tensor; `bytes` refers to the file and need not be aligned.
struct DglTensor {
  DType dtype = DType::kF32;
  std::vector<std::size_t> shape;
  std::span<const std::byte> bytes;

  /// Elements of the first dimension; 1 for a scalar.
  [[nodiscard]] std::size_t rows() const noexcept { return shape.empty() ? 1 : shape[0]; }
};

/// Tensors by name, in file order.
using DglTensors = std::vector<std::pair<std::string, DglTensor>>;

/// The tensor of that name, or nullptr.
[[nodiscard]] const DglTensor* find_tensor(const DglTensors& tensors, std::string_view name);

/// One stored form of the edges of a relation.
struct DglSparse {
  enum class Form : std::uint8_t { kCoo, kCsr, kCsc };
  Form form = Form::kCoo;
  std::int64_t rows = 0, columns = 0;  ///< as stored: of a CSC, rows are the targets
  DglTensor first;                     ///< COO: row of each edge; else indptr
  DglTensor second;                    ///< COO: column of each edge; else indices
  DglTensor edge_ids;                  ///< empty: an edge's id is its position
};

struct DglGraph {
  std::vector<std::vector<DglSparse>> relations;  ///< per edge type, at least one form each
  std::vector<std::int64_t> nodes_per_type;
  std::vector<DglTensors> node_tensors, edge_tensors;  ///< per type
  std::vector<std::string> node_types, edge_types;
};

struct DglGraphFile {
  std::vector<DglGraph> graphs;
  DglTensors labels;
};

/// Reads a whole tensor file; trailing bytes are an error.
[[nodiscard]] Result<DglTensors> read_dgl_tensors(std::span<const std::byte> bytes, const std::string& where);

/// Reads a whole version-2 graph file, to its last byte. Every count, length and magic number is checked
/// against the bytes that are there; offsets stored at the end must be those at which the graphs began.
[[nodiscard]] Result<DglGraphFile> read_dgl_graphs(std::span<const std::byte> bytes,
                                                   const std::string& where);

struct DglEdges {
  std::vector<std::int64_t> source, target;  ///< by edge id
};

/// The edges of a relation in order of their ids; ids must be a permutation and ends lie in [0, nodes).
[[nodiscard]] Result<DglEdges> dgl_edges(const std::vector<DglSparse>& forms, std::int64_t nodes,
                                         const std::string& where);

}  // namespace rudder::graph

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/sha256.h"
#include "rudder/graph/npy.h"
#include "rudder/graph/partition.h"

#include "graph/at.h"
#include "graph/folder.h"
#include "graph/partition_folder.h"

namespace rudder::graph {
namespace {

/// Writes the arrays of a graph folder in original ids.
class Exporter {
 public:
  Exporter(const PartitionedGraph& from, const std::filesystem::path& out)
      : from_(from), out_(out), fresh_(from.original_ids().size()) {
    for (std::size_t v = 0; v < fresh_.size(); ++v) {
      fresh_[at(from.original_ids()[v])] = static_cast<NodeId>(v);
    }
  }

  Status write_structure() {
    const CscView csc = from_.topology();
    Sha256 hash;
    hash_shapes(from_.meta(), hash);
    std::size_t shape[] = {csc.indptr.size()};
    RUDDER_ASSIGN(NpyWriter indptr, NpyWriter::create(out_ / "indptr.npy", DType::kI64, shape));
    EdgeIndex total = 0;
    for (std::size_t v = 0; v <= fresh_.size(); ++v) {
      const auto bytes = std::as_bytes(std::span(&total, 1));
      hash.update(bytes);
      RUDDER_TRY(indptr.write(bytes));
      total += v < fresh_.size() ? csc.degree(fresh_[v]) : 0;
    }
    RUDDER_TRY(indptr.commit());
    shape[0] = csc.indices.size();
    RUDDER_ASSIGN(NpyWriter indices, NpyWriter::create(out_ / "indices.npy", DType::kI64, shape));
    std::vector<NodeId> row;
    for (const NodeId v : fresh_) {
      row.clear();
      for (const NodeId u : csc.neighbors(v)) {
        row.push_back(from_.original_ids()[at(u)]);
      }
      std::sort(row.begin(), row.end());
      hash.update(std::as_bytes(std::span(row)));
      RUDDER_TRY(indices.write(std::as_bytes(std::span(row))));
    }
    RUDDER_TRY(indices.commit());
    if (const std::string digest = hash.hex(); digest != from_.graph_digest()) {
      return Error{Errc::kInvalidData, fmt::format("{}: gives a graph of digest {}, but was cut from {}",
                                                   from_.directory().string(), digest, from_.graph_digest())};
    }
    return {};
  }

  Status write_rows() {
    std::vector<Part> parts;
    for (PartId p = 0; p < from_.book().parts(); ++p) {
      RUDDER_ASSIGN(Part part, from_.open_part(p));
      parts.push_back(std::move(part));
    }
    const std::size_t row_bytes = from_.row_bytes();
    const std::size_t shape[] = {fresh_.size(), from_.meta().features};
    RUDDER_ASSIGN(NpyWriter features, NpyWriter::create(out_ / "features.npy", from_.meta().dtype, shape));
    const auto classes = at(from_.meta().classes);
    std::vector<std::int64_t> labels;
    std::vector<std::uint8_t> label_rows;
    for (const NodeId v : fresh_) {
      const Part& part = parts[from_.book().part_of(v)];
      const std::size_t row = at(v - part.begin());
      RUDDER_TRY(features.write(part.features().subspan(row * row_bytes, row_bytes)));
      if (from_.meta().multi_label) {
        const auto own = part.label_rows().subspan(row * classes, classes);
        label_rows.insert(label_rows.end(), own.begin(), own.end());
      } else {
        labels.push_back(part.labels()[row]);
      }
    }
    RUDDER_TRY(features.commit());
    return write_labels(out_ / "labels.npy", from_.meta(), labels, label_rows);
  }

  Status write_source_ids() {
    std::vector<std::int64_t> source_ids(fresh_.size());
    for (PartId p = 0; p < from_.book().parts(); ++p) {
      NpyArray array;
      std::span<const std::int64_t> ids;
      RUDDER_TRY(open_vector(part_directory(from_.directory(), p) / "source_ids.npy", kPartitionJson,
                             at(from_.book().size(p)), array, ids));
      for (std::size_t i = 0; i < ids.size(); ++i) {
        source_ids[at(from_.original_ids()[at(from_.book().begin(p)) + i])] = ids[i];
      }
    }
    return write_npy(out_ / "original_ids.npy", source_ids);
  }

  Status write_splits() {
    RUDDER_TRY(write_split("train.npy", &PartitionedGraph::train));
    RUDDER_TRY(write_split("val.npy", &PartitionedGraph::val));
    return write_split("test.npy", &PartitionedGraph::test);
  }

 private:
  Status write_split(const char* name,
                     std::span<const NodeId> (PartitionedGraph::*of)(PartId) const noexcept) {
    std::vector<NodeId> ids;
    for (PartId p = 0; p < from_.book().parts(); ++p) {
      for (const NodeId v : (from_.*of)(p)) {
        ids.push_back(from_.original_ids()[at(v)]);
      }
    }
    std::sort(ids.begin(), ids.end());
    return write_npy(out_ / name, ids);
  }

  const PartitionedGraph& from_;
  std::filesystem::path out_;
  std::vector<NodeId> fresh_;  ///< original id → new id
};

}  // namespace

Status export_graph(const PartitionedGraph& partitioned, const std::filesystem::path& out) {
  const std::filesystem::path source = partitioned.directory() / kSourceGraphJson;
  RUDDER_ASSIGN(const std::string text, read_text(source));
  RUDDER_ASSIGN(const MetaFile meta, read_meta(source));
  RUDDER_ASSIGN(NewFolder folder, NewFolder::create(out));
  Exporter exporter(partitioned, out);
  RUDDER_TRY(exporter.write_structure());
  RUDDER_TRY(exporter.write_rows());
  RUDDER_TRY(exporter.write_splits());
  if (meta.original_ids) {
    RUDDER_TRY(exporter.write_source_ids());
  }
  RUDDER_TRY(write_text(out / kGraphJson, text));
  folder.keep();
  return {};
}

}  // namespace rudder::graph

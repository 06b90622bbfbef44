// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/clock.h"
#include "rudder/core/files.h"
#include "rudder/core/sha256.h"
#include "rudder/graph/npy.h"
#include "rudder/graph/partition.h"

#include "graph/at.h"
#include "graph/folder.h"
#include "graph/partition_folder.h"

namespace rudder::graph {
namespace {

using Progress = std::function<void(double, std::string_view)>;

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}

/// New ids: parts one after the other, inside a part by original id.
struct Relabelling {
  std::vector<NodeId> original;  ///< new id → original id
  std::vector<NodeId> fresh;     ///< original id → new id
  PartitionBook book;
};

Result<Relabelling> relabel(const std::vector<PartId>& part, PartId parts) {
  Relabelling out;
  std::vector<NodeId> offsets(std::size_t{parts} + 1);
  for (const PartId p : part) {
    ++offsets[std::size_t{p} + 1];
  }
  for (std::size_t p = 0; p < parts; ++p) {
    offsets[p + 1] += offsets[p];
  }
  std::vector<NodeId> next(offsets.begin(), offsets.end() - 1);
  out.original.resize(part.size());
  out.fresh.resize(part.size());
  for (std::size_t v = 0; v < part.size(); ++v) {
    const NodeId id = next[part[v]]++;
    out.original[at(id)] = static_cast<NodeId>(v);
    out.fresh[v] = id;
  }
  RUDDER_ASSIGN(out.book, PartitionBook::create(std::move(offsets)));
  return out;
}

double balance(const std::vector<std::int64_t>& loads) {
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (const std::int64_t load : loads) {
    sum += load;
    most = std::max(most, load);
  }
  return sum == 0 ? 1
                  : static_cast<double>(most) * static_cast<double>(loads.size()) / static_cast<double>(sum);
}

Result<NpyWriter> create_vector(const std::filesystem::path& path, std::size_t length) {
  const std::size_t shape[] = {length};
  return NpyWriter::create(path, DType::kI64, shape);
}

/// Writes one partition folder part by part; each array is streamed.
class PartitionWriter {
 public:
  PartitionWriter(const Graph& graph, Relabelling ids, const std::filesystem::path& out,
                  const Progress& progress)
      : graph_(graph), ids_(std::move(ids)), out_(out), progress_(progress) {}

  Status write(PartitionFile& file) {
    const PartitionBook& book = ids_.book;
    halo_mark_.assign(ids_.original.size(), std::numeric_limits<PartId>::max());
    RUDDER_TRY(make_directories(out_ / "structure"));
    RUDDER_TRY(write_npy(out_ / "original_ids.npy", ids_.original));
    hash_.update(bytes_of(ids_.original));
    for (PartId p = 0; p < book.parts(); ++p) {
      RUDDER_TRY(make_directories(part_directory(out_, p)));
      part_hashes_.push_back(std::make_unique<Sha256>());
    }
    RUDDER_TRY(write_offsets());
    RUDDER_TRY(write_indices());
    for (PartId p = 0; p < book.parts(); ++p) {
      note(0.5 + 0.5 * p / book.parts(), fmt::format("writing the rows of part {}", p));
      RUDDER_TRY(write_rows(p));
      RUDDER_TRY(write_splits(p));
      nodes_.push_back(book.size(p));
    }
    file.offsets.assign(book.offsets().begin(), book.offsets().end());
    file.structure_digest = hash_.hex();
    for (const auto& hash : part_hashes_) {
      file.part_digests.push_back(hash->hex());
    }
    file.row_digests = std::move(row_digests_);
    file.report.parts = book.parts();
    file.report.empty_parts = static_cast<PartId>(std::ranges::count(nodes_, 0));
    file.report.edge_cut = crossing_ / 2;
    file.report.balance_nodes = balance(nodes_);
    file.report.balance_edges = balance(edges_);
    file.report.balance_train = balance(train_);
    file.report.halo = halo_;
    return {};
  }

 private:
  void note(double share, const std::string& what) {
    if (progress_) {
      progress_(share, what);
    }
  }

  Status write_offsets() {
    const CscView csc = graph_.topology();
    RUDDER_ASSIGN(NpyWriter whole, create_vector(out_ / "structure" / "indptr.npy", csc.indptr.size()));
    EdgeIndex total = 0;
    const auto put = [&](NpyWriter& writer, EdgeIndex value) {
      return writer.write(std::as_bytes(std::span(&value, 1)));
    };
    const auto put_whole = [&] {
      hash_.update(std::as_bytes(std::span(&total, 1)));
      return put(whole, total);
    };
    RUDDER_TRY(put_whole());
    for (PartId p = 0; p < ids_.book.parts(); ++p) {
      RUDDER_ASSIGN(NpyWriter own,
                    create_vector(part_directory(out_, p) / "indptr.npy", at(ids_.book.size(p)) + 1));
      const EdgeIndex before = total;
      const auto put_own = [&](EdgeIndex value) {
        part_hashes_[p]->update(std::as_bytes(std::span(&value, 1)));
        return put(own, value);
      };
      RUDDER_TRY(put_own(0));
      for (NodeId v = ids_.book.begin(p); v < ids_.book.end(p); ++v) {
        total += csc.degree(ids_.original[at(v)]);
        RUDDER_TRY(put_whole());
        RUDDER_TRY(put_own(total - before));
      }
      RUDDER_TRY(own.commit());
      edges_.push_back(total - before);
    }
    return whole.commit();
  }

  Status write_indices() {
    const CscView csc = graph_.topology();
    RUDDER_ASSIGN(NpyWriter whole, create_vector(out_ / "structure" / "indices.npy", csc.indices.size()));
    std::vector<NodeId> row;
    for (PartId p = 0; p < ids_.book.parts(); ++p) {
      note(0.2 + 0.3 * p / ids_.book.parts(), fmt::format("writing the structure of part {}", p));
      RUDDER_ASSIGN(NpyWriter own, create_vector(part_directory(out_, p) / "indices.npy", at(edges_[p])));
      halo_.push_back(0);
      for (NodeId v = ids_.book.begin(p); v < ids_.book.end(p); ++v) {
        row.clear();
        for (const NodeId u : csc.neighbors(ids_.original[at(v)])) {
          row.push_back(ids_.fresh[at(u)]);
          count_remote(p, row.back());
        }
        std::sort(row.begin(), row.end());
        hash_.update(bytes_of(row));
        part_hashes_[p]->update(bytes_of(row));
        RUDDER_TRY(whole.write(bytes_of(row)));
        RUDDER_TRY(own.write(bytes_of(row)));
      }
      RUDDER_TRY(own.commit());
    }
    return whole.commit();
  }

  void count_remote(PartId p, NodeId neighbor) {
    if (ids_.book.owns(p, neighbor)) {
      return;
    }
    ++crossing_;
    if (halo_mark_[at(neighbor)] != p) {
      halo_mark_[at(neighbor)] = p;
      ++halo_[p];
    }
  }

  Status write_rows(PartId p) {
    const std::filesystem::path directory = part_directory(out_, p);
    const std::size_t shape[] = {at(ids_.book.size(p)), graph_.meta().features};
    RUDDER_ASSIGN(NpyWriter features,
                  NpyWriter::create(directory / "features.npy", graph_.meta().dtype, shape));
    std::vector<std::int64_t> labels;
    std::vector<std::uint8_t> label_rows;
    std::vector<std::int64_t> source_ids;
    for (NodeId v = ids_.book.begin(p); v < ids_.book.end(p); ++v) {
      const NodeId original = ids_.original[at(v)];
      RUDDER_TRY(check_finite(graph_.meta().dtype, graph_.row(original), graph_.meta().features, original,
                              (graph_.directory() / "features.npy").string()));
      RUDDER_TRY(features.write(graph_.row(original)));
      if (graph_.meta().multi_label) {
        const auto row = graph_.label_row(original);
        label_rows.insert(label_rows.end(), row.begin(), row.end());
      } else {
        labels.push_back(graph_.labels()[at(original)]);
      }
      if (!graph_.original_ids().empty()) {
        source_ids.push_back(graph_.original_ids()[at(original)]);
      }
    }
    RUDDER_TRY(features.commit());
    const auto original = [&](std::size_t row) { return ids_.original[at(ids_.book.begin(p)) + row]; };
    row_digests_.push_back(rows_digest(
        at(ids_.book.size(p)), [&](std::size_t row) { return graph_.row(original(row)); },
        [&](std::size_t row) {
          return graph_.meta().multi_label ? std::as_bytes(graph_.label_row(original(row)))
                                           : std::as_bytes(std::span(labels).subspan(row, 1));
        }));
    if (!graph_.original_ids().empty()) {
      RUDDER_TRY(write_npy(directory / "source_ids.npy", source_ids));
    }
    return write_labels(directory / "labels.npy", graph_.meta(), labels, label_rows);
  }

  /// New ids of the members of a split that part p owns, ascending.
  [[nodiscard]] std::vector<NodeId> owned(std::span<const NodeId> split, PartId p) const {
    std::vector<NodeId> out;
    for (const NodeId v : split) {
      if (ids_.book.owns(p, ids_.fresh[at(v)])) {
        out.push_back(ids_.fresh[at(v)]);
      }
    }
    return out;
  }

  Status write_splits(PartId p) {
    const std::filesystem::path directory = part_directory(out_, p);
    const std::vector<NodeId> train = owned(graph_.train(), p);
    train_.push_back(static_cast<std::int64_t>(train.size()));
    RUDDER_TRY(write_npy(directory / "train.npy", train));
    RUDDER_TRY(write_npy(directory / "val.npy", owned(graph_.val(), p)));
    return write_npy(directory / "test.npy", owned(graph_.test(), p));
  }

  const Graph& graph_;
  Relabelling ids_;
  std::filesystem::path out_;
  const Progress& progress_;
  Sha256 hash_;
  std::vector<std::unique_ptr<Sha256>> part_hashes_;
  std::vector<std::string> row_digests_;
  EdgeIndex crossing_ = 0;
  std::vector<PartId> halo_mark_;  ///< the last part that counted this node in its halo
  std::vector<NodeId> halo_;
  std::vector<std::int64_t> nodes_, edges_, train_;
};

std::string digest_of(const Graph& graph) {
  Sha256 hash;
  hash_shapes(graph.meta(), hash);
  hash.update(std::as_bytes(graph.topology().indptr));
  hash.update(std::as_bytes(graph.topology().indices));
  return hash.hex();
}

}  // namespace

Result<PartitionReport> partition_graph(const Graph& graph, const PartitionOptions& options,
                                        const std::filesystem::path& out, const Progress& progress) {
  const TimePoint start = steady_clock().now();
  RUDDER_ASSIGN(NewFolder folder, NewFolder::create(out));
  if (progress) {
    progress(0, fmt::format("assigning nodes by {}", name_of(options.method)));
  }
  PartitionFile file;
  {
    RUDDER_ASSIGN(std::vector<PartId> part, assign_parts(graph, options));
    RUDDER_ASSIGN(Relabelling ids, relabel(part, options.parts));
    part = {};
    PartitionWriter writer(graph, std::move(ids), out, progress);
    RUDDER_TRY(writer.write(file));
  }
  RUDDER_ASSIGN(const std::string source, read_text(graph.directory() / kGraphJson));
  RUDDER_TRY(write_text(out / kSourceGraphJson, source));
  file.method = name_of(options.method);
  file.report.method = file.method;
  file.seed = options.seed;
  file.imbalance = options.imbalance;
  file.graph_digest = digest_of(graph);
  file.source_digest = text_digest(source);
  RUDDER_TRY(write_text(out / kPartitionJson, partition_json_text(file)));
  folder.keep();
  if (progress) {
    progress(1, "done");
  }
  file.report.seconds = to_seconds(steady_clock().now() - start);
  return file.report;
}

}  // namespace rudder::graph

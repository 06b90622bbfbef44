// SPDX-License-Identifier: Apache-2.0
// Cutting a graph into parts with contiguous id ranges, and opening the result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/aligned.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/graph/graph.h"

namespace rudder::graph {

struct PartitionFile;

/// Part p owns the ids [offset(p), offset(p+1)).
class PartitionBook {
 public:
  PartitionBook() = default;
  /// `offsets`: parts + 1 values from 0 up, not decreasing (checked).
  [[nodiscard]] static Result<PartitionBook> create(std::vector<NodeId> offsets);

  [[nodiscard]] PartId parts() const noexcept { return static_cast<PartId>(offsets_.size()) - 1; }
  [[nodiscard]] NodeId nodes() const noexcept { return offsets_.back(); }
  [[nodiscard]] NodeId begin(PartId p) const noexcept { return offsets_[p]; }
  [[nodiscard]] NodeId end(PartId p) const noexcept { return offsets_[p + 1]; }
  [[nodiscard]] NodeId size(PartId p) const noexcept { return end(p) - begin(p); }
  [[nodiscard]] bool owns(PartId p, NodeId v) const noexcept { return v >= begin(p) && v < end(p); }
  /// O(log parts).
  [[nodiscard]] PartId part_of(NodeId v) const noexcept;
  [[nodiscard]] std::span<const NodeId> offsets() const noexcept { return offsets_; }
  /// The book of the hosts that own `parts_each` parts each, one after another; must divide parts().
  [[nodiscard]] PartitionBook grouped(PartId parts_each) const;

 private:
  std::vector<NodeId> offsets_{0};
};

enum class PartitionMethod : std::uint8_t { kMetis, kLdg, kFennel, kHash, kRandom };

[[nodiscard]] std::optional<PartitionMethod> partition_method_from_name(std::string_view name) noexcept;
[[nodiscard]] std::string_view name_of(PartitionMethod method) noexcept;

struct PartitionOptions {
  PartId parts = 4;
  PartitionMethod method = PartitionMethod::kMetis;
  std::uint64_t seed = 1;
  double imbalance = 0.05;       ///< METIS, LDG, Fennel: allowed excess over the mean part
  std::size_t memory_limit = 0;  ///< bytes; 0: what is available now
};

struct PartitionReport {
  PartId parts = 0;
  PartId empty_parts = 0;  ///< without nodes: methods leave some when there are more parts than they can fill
  std::string method;
  EdgeIndex edge_cut = 0;  ///< stored entries whose ends lie in different parts, halved: undirected edges cut
  /// Largest part / mean part; 1 when there is nothing to balance. Edges: stored entries of owned nodes.
  double balance_nodes = 0, balance_edges = 0, balance_train = 0;
  std::vector<NodeId> halo;  ///< per part: remote nodes adjacent to it
  double seconds = 0;
};

/// Bytes of memory that `partition_graph` will take at its peak, beyond the mapped files of the graph. An
/// upper estimate for METIS, exact up to buffers for the others.
[[nodiscard]] std::size_t partition_memory_bytes(const GraphMeta& meta, const PartitionOptions& options);

/// Assigns every node a part; deterministic in the seed. METIS balances edges and training nodes, LDG and
/// Fennel nodes; random gives parts that differ by at most one node, hash only statistically equal ones.
/// Errors: no nodes, more parts than nodes, too little memory (both numbers are named), for METIS nodes +
/// edges >= 2^31.
[[nodiscard]] Result<std::vector<PartId>> assign_parts(const Graph& graph, const PartitionOptions& options);

/// Assigns, relabels (parts contiguous; inside a part by original id) and writes the partition folder `out`,
/// which must be absent or empty: `partition.json` (last), `source_graph.json` (the graph folder's
/// `graph.json`, unchanged), `original_ids.npy` (new id → original id), `structure/{indptr,indices}` (the
/// whole relabelled structure, for hosts that hold all of it),
/// `part{i}/{indptr,indices,features,labels,train,val,test}` (owned rows; ids are new global ids, offsets in
/// indptr begin at 0) and, when the graph folder has its own `original_ids.npy`, `part{i}/source_ids.npy`.
/// Equal input gives equal files. Refuses with the estimate when memory cannot fit. `progress` may be empty;
/// it gets (share done in [0,1], what).
[[nodiscard]] Result<PartitionReport> partition_graph(
    const Graph& graph, const PartitionOptions& options, const std::filesystem::path& out,
    const std::function<void(double, std::string_view)>& progress);

/// Where a part's features lie.
enum class FeatureMemory : std::uint8_t {
  kMapped,  ///< in their file, read as they are needed: they may exceed the memory
  kLoaded   ///< in memory of the process, read at once, on huge pages where the system has them
};

/// The files of one part.
class Part {
 public:
  [[nodiscard]] PartId id() const noexcept { return id_; }
  [[nodiscard]] NodeId begin() const noexcept { return begin_; }
  [[nodiscard]] NodeId size() const noexcept { return size_; }
  /// Features of owned nodes in id order, size() rows.
  [[nodiscard]] std::span<const std::byte> features() const noexcept {
    return loaded_.data() != nullptr ? loaded_.bytes().first(features_.bytes().size()) : features_.bytes();
  }
  /// Of owned nodes; -1 = none. Empty in a multi-label graph.
  [[nodiscard]] std::span<const std::int64_t> labels() const noexcept { return labels_view_; }
  /// Multi-label graphs: size() rows of `classes` values of 0 or 1. Empty in others.
  [[nodiscard]] std::span<const std::uint8_t> label_rows() const noexcept { return label_rows_view_; }

 private:
  friend class PartitionedGraph;
  PartId id_ = 0;
  NodeId begin_ = 0, size_ = 0;
  NpyArray features_, labels_;
  AlignedBytes loaded_;  ///< a copy of the features, or nothing
  std::span<const std::int64_t> labels_view_;
  std::span<const std::uint8_t> label_rows_view_;
};

/// An opened partition folder, with the whole structure or with that of one part. Immutable, thread-safe,
/// movable.
class PartitionedGraph {
 public:
  /// Opens and checks everything but the parts' features and labels (see open_part): shapes, ranges and
  /// order, that original_ids is a permutation, that the parts' structure is the whole one's, and the digest
  /// of the structure, so that files of two partitions cannot be mixed. O(nodes + edges).
  [[nodiscard]] static Result<PartitionedGraph> open(const std::filesystem::path& directory);
  /// Opens and checks the structure of part `p` alone, by its own digest, and the splits of all parts;
  /// `structure/`, `original_ids.npy` and the other parts' structure may be absent. O(nodes + edges of the
  /// part). Folders of version 1 have no digests of parts: kUnsupported.
  [[nodiscard]] static Result<PartitionedGraph> open_own(const std::filesystem::path& directory, PartId p);
  /// Checks shapes, that labels lie in [-1, classes), or are rows of 0 and 1, and that a sample of the rows
  /// is as it was written. Features that are to be loaded and take more memory than there is are an error.
  [[nodiscard]] Result<Part> open_part(PartId p, FeatureMemory memory = FeatureMemory::kMapped) const;

  [[nodiscard]] const PartitionBook& book() const noexcept { return book_; }
  /// False after open_own().
  [[nodiscard]] bool has_topology() const noexcept { return !own_; }
  /// The whole structure, in new ids. Requires has_topology().
  [[nodiscard]] CscView topology() const noexcept;
  /// In-edges of the nodes of parts `first` to `last`: of any parts with has_topology(), else of the one that
  /// was opened.
  [[nodiscard]] CscSlice slice(PartId first, PartId last) const noexcept;
  [[nodiscard]] CscSlice slice(PartId p) const noexcept { return slice(p, p); }
  [[nodiscard]] const GraphMeta& meta() const noexcept { return meta_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return meta_.features * size_of(meta_.dtype); }
  [[nodiscard]] std::span<const NodeId> train(PartId p) const noexcept { return splits_[p].train_view; }
  [[nodiscard]] std::span<const NodeId> val(PartId p) const noexcept { return splits_[p].val_view; }
  [[nodiscard]] std::span<const NodeId> test(PartId p) const noexcept { return splits_[p].test_view; }
  /// Empty without has_topology().
  [[nodiscard]] std::span<const NodeId> original_ids() const noexcept { return original_view_; }
  /// SHA-256 (hex) over the source graph's structure and shapes, written when the graph was cut: equal for
  /// partitions of one graph.
  [[nodiscard]] const std::string& graph_digest() const noexcept { return graph_digest_; }
  /// SHA-256 (hex) over `partition.json`'s contents: equal only for the same cut of the same graph.
  [[nodiscard]] const std::string& digest() const noexcept { return digest_; }
  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_; }

 private:
  [[nodiscard]] Status open_description(PartitionFile& file);
  [[nodiscard]] Status open_whole(const PartitionFile& file);
  [[nodiscard]] Status open_slice(PartId p, const PartitionFile& file);
  [[nodiscard]] Status open_splits();
  [[nodiscard]] Status check_rows(const Part& part) const;

  struct Split {
    NpyArray train, val, test;
    std::span<const NodeId> train_view, val_view, test_view;
  };
  std::filesystem::path directory_;
  GraphMeta meta_;
  PartitionBook book_;
  NpyArray indptr_, indices_, original_;
  std::optional<PartId> own_;  ///< the part whose structure is open; nothing: all
  CscView topology_;           ///< of all parts or of that one
  std::span<const NodeId> original_view_;
  std::vector<Split> splits_;
  std::string graph_digest_, digest_;
  std::vector<std::string> row_digests_;  ///< one a part; empty in folders before version 3
};

/// Remote nodes adjacent to a part, sorted; `nodes` are the whole graph's. O(nodes + edges of the part).
[[nodiscard]] std::vector<NodeId> halo_of(const CscSlice& part, NodeId nodes);

/// Writes the partitioned graph back as a graph folder in original ids, equal to the folder it was cut from
/// byte for byte; `out` must be absent or empty. Requires has_topology(). Streams: takes 16 bytes a node of
/// memory.
[[nodiscard]] Status export_graph(const PartitionedGraph& partitioned, const std::filesystem::path& out);

}  // namespace rudder::graph

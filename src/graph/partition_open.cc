// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/files.h"
#include "rudder/core/machine.h"
#include "rudder/core/sha256.h"
#include "rudder/graph/partition.h"

#include "graph/at.h"
#include "graph/folder.h"
#include "graph/invalid.h"
#include "graph/json_text.h"
#include "graph/partition_folder.h"

namespace rudder::graph {
namespace {

/// Every id once; ascending inside each part.
Status check_original_ids(std::span<const NodeId> original, const PartitionBook& book,
                          const std::string& where) {
  std::vector<bool> seen(original.size());
  for (PartId p = 0; p < book.parts(); ++p) {
    RUDDER_TRY(check_split(original.subspan(at(book.begin(p)), at(book.size(p))), 0, book.nodes(),
                           fmt::format("ids of part {}", p), where));
  }
  for (std::size_t v = 0; v < original.size(); ++v) {
    if (seen[at(original[v])]) {
      return invalid(where, fmt::format("original id {} occurs twice, second at {}", original[v], v));
    }
    seen[at(original[v])] = true;
  }
  return {};
}

/// The part's own structure is the slice of the whole one.
Status check_part_structure(const std::filesystem::path& directory, const CscView& whole, NodeId begin,
                            NodeId end) {
  const EdgeIndex first = whole.indptr[at(begin)];
  const EdgeIndex count = whole.indptr[at(end)] - first;
  NpyArray indptr;
  NpyArray indices;
  std::span<const EdgeIndex> offsets;
  std::span<const NodeId> neighbors;
  RUDDER_TRY(open_vector(directory / "indptr.npy", kPartitionJson, at(end - begin) + 1, indptr, offsets));
  RUDDER_TRY(open_vector(directory / "indices.npy", "structure/indptr.npy", at(count), indices, neighbors));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (const EdgeIndex expected = whole.indptr[at(begin) + i] - first; offsets[i] != expected) {
      return invalid(indptr.where(),
                     fmt::format("[{}] is {}, but structure/indptr.npy gives {}", i, offsets[i], expected));
    }
  }
  const auto expected = whole.indices.subspan(at(first), at(count));
  const auto [found, wanted] = std::mismatch(neighbors.begin(), neighbors.end(), expected.begin());
  if (found != neighbors.end()) {
    return invalid(indices.where(), fmt::format("[{}] is {}, but structure/indices.npy has {}",
                                                found - neighbors.begin(), *found, *wanted));
  }
  return {};
}

Status open_split(const std::filesystem::path& path, NodeId begin, NodeId end, NpyArray& array,
                  std::span<const NodeId>& view) {
  RUDDER_ASSIGN(array, NpyArray::open(path));
  RUDDER_ASSIGN(view, array.vector_of<NodeId>());
  return check_split(view, begin, end, path.stem().string(), path.string());
}

Result<AlignedBytes> load(const NpyArray& features) {
  const std::size_t bytes = features.bytes().size();
  const std::size_t available = available_memory_bytes();
  std::optional<AlignedBytes> memory;
  if (bytes <= available) {
    memory = AlignedBytes::allocate(bytes);
  }
  if (!memory) {
    return Error{Errc::kResource,
                 fmt::format("{}: {} bytes of features do not fit into memory ({} bytes are available); "
                             "--features mapped reads them from the file",
                             features.where(), bytes, available)};
  }
  if (bytes > 0) {
    std::memcpy(memory->data(), features.bytes().data(), bytes);
  }
  return *std::move(memory);
}

Status check_total(const std::string& where, std::string_view split, std::size_t sum, std::size_t stated) {
  if (sum != stated) {
    return invalid(where, fmt::format("the parts have {} nodes in {}, {} says {}", sum, split,
                                      kSourceGraphJson, stated));
  }
  return {};
}

Status check_digest(const Sha256& hash, const std::string& stated, const std::filesystem::path& directory) {
  if (const std::string actual = hash.hex(); actual != stated) {
    return invalid(directory.string(),
                   fmt::format("SHA-256 {} instead of {} in {}: files of another partition or damaged",
                               actual, stated, kPartitionJson));
  }
  return {};
}

}  // namespace

Result<PartitionBook> PartitionBook::create(std::vector<NodeId> offsets) {
  if (offsets.empty() || offsets.front() != 0) {
    return invalid("partition book", "offsets do not begin with 0");
  }
  for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
    if (offsets[p + 1] < offsets[p]) {
      return invalid("partition book",
                     fmt::format("offsets[{}] is {} after {}", p + 1, offsets[p + 1], offsets[p]));
    }
  }
  PartitionBook book;
  book.offsets_ = std::move(offsets);
  return book;
}

PartitionBook PartitionBook::grouped(PartId parts_each) const {
  RUDDER_CHECK(parts_each > 0 && parts() % parts_each == 0, "groups of parts must be equal");
  PartitionBook book;
  for (PartId p = 0; p < parts(); p += parts_each) {
    book.offsets_.push_back(end(p + parts_each - 1));
  }
  return book;
}

PartId PartitionBook::part_of(NodeId v) const noexcept {
  RUDDER_DCHECK(v >= 0 && v < nodes(), "a node of the partition book");
  const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), v);
  return static_cast<PartId>(after - offsets_.begin()) - 1;
}

Result<PartitionedGraph> PartitionedGraph::open(const std::filesystem::path& directory) {
  PartitionedGraph out;
  out.directory_ = directory;
  PartitionFile file;
  RUDDER_TRY(out.open_description(file));
  RUDDER_TRY(out.open_whole(file));
  RUDDER_TRY(out.open_splits());
  return out;
}

Result<PartitionedGraph> PartitionedGraph::open_own(const std::filesystem::path& directory, PartId p) {
  PartitionedGraph out;
  out.directory_ = directory;
  PartitionFile file;
  RUDDER_TRY(out.open_description(file));
  RUDDER_TRY(out.open_slice(p, file));
  RUDDER_TRY(out.open_splits());
  return out;
}

Status PartitionedGraph::open_description(PartitionFile& file) {
  const std::string where = (directory_ / kPartitionJson).string();
  RUDDER_ASSIGN(const std::string text, read_json_text(directory_ / kPartitionJson));
  RUDDER_ASSIGN(file, parse_partition_json(text, where));
  digest_ = text_digest(text);
  graph_digest_ = file.graph_digest;
  row_digests_ = file.row_digests;
  auto book = PartitionBook::create(file.offsets);
  if (!book.ok()) {
    return book.error().in(where);
  }
  book_ = std::move(book).value();
  RUDDER_ASSIGN(const std::string source, read_text(directory_ / kSourceGraphJson));
  if (text_digest(source) != file.source_digest) {
    return invalid((directory_ / kSourceGraphJson).string(),
                   fmt::format("is not the one that {} was written with", kPartitionJson));
  }
  RUDDER_ASSIGN(MetaFile meta, read_meta(directory_ / kSourceGraphJson));
  meta_ = std::move(meta.meta);
  if (book_.nodes() != meta_.nodes) {
    return invalid(where, fmt::format("offsets end at {}, but {} says {} nodes", book_.nodes(),
                                      kSourceGraphJson, meta_.nodes));
  }
  return {};
}

Status PartitionedGraph::open_whole(const PartitionFile& file) {
  const auto nodes = at(meta_.nodes);
  RUDDER_TRY(
      open_vector(directory_ / "original_ids.npy", kSourceGraphJson, nodes, original_, original_view_));
  RUDDER_TRY(check_original_ids(original_view_, book_, original_.where()));
  const std::filesystem::path structure = directory_ / "structure";
  RUDDER_TRY(open_vector(structure / "indptr.npy", kSourceGraphJson, nodes + 1, indptr_, topology_.indptr));
  RUDDER_TRY(
      open_vector(structure / "indices.npy", kSourceGraphJson, at(meta_.edges), indices_, topology_.indices));
  RUDDER_TRY(validate_csc(topology_, meta_.nodes, structure.string()));
  Sha256 hash;
  hash.update(std::as_bytes(original_view_));
  hash.update(std::as_bytes(topology_.indptr));
  hash.update(std::as_bytes(topology_.indices));
  RUDDER_TRY(check_digest(hash, file.structure_digest, structure));
  for (PartId p = 0; p < book_.parts(); ++p) {
    RUDDER_TRY(check_part_structure(part_directory(directory_, p), topology_, book_.begin(p), book_.end(p)));
  }
  return {};
}

Status PartitionedGraph::open_slice(PartId p, const PartitionFile& file) {
  if (p >= book_.parts()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} has {} parts; there is no part {}", directory_.string(), book_.parts(), p)};
  }
  if (file.part_digests.empty()) {
    return Error{
        Errc::kUnsupported,
        fmt::format("{}: version 1 has no digests of single parts, so one part's structure cannot be "
                    "checked without the whole one; partition the graph again",
                    (directory_ / kPartitionJson).string())};
  }
  own_ = p;
  const std::filesystem::path directory = part_directory(directory_, p);
  RUDDER_TRY(open_vector(directory / "indptr.npy", kPartitionJson, at(book_.size(p)) + 1, indptr_,
                         topology_.indptr));
  RUDDER_ASSIGN(indices_, NpyArray::open(directory / "indices.npy"));
  RUDDER_ASSIGN(topology_.indices, indices_.vector_of<NodeId>());
  RUDDER_TRY(validate_csc(topology_, meta_.nodes, directory.string()));
  Sha256 hash;
  hash.update(std::as_bytes(topology_.indptr));
  hash.update(std::as_bytes(topology_.indices));
  return check_digest(hash, file.part_digests[p], directory);
}

CscView PartitionedGraph::topology() const noexcept {
  RUDDER_CHECK(has_topology(), "the structure of one part is open, not the whole one");
  return topology_;
}

CscSlice PartitionedGraph::slice(PartId first, PartId last) const noexcept {
  RUDDER_CHECK(first <= last && last < book_.parts(), "parts of the partition, in order");
  const NodeId begin = book_.begin(first);
  if (own_) {
    RUDDER_CHECK(first == *own_ && last == *own_, "the structure of another part is open");
    return {begin, topology_};
  }
  return {begin, {topology_.indptr.subspan(at(begin), at(book_.end(last) - begin) + 1), topology_.indices}};
}

Status PartitionedGraph::open_splits() {
  std::size_t train = 0;
  std::size_t val = 0;
  std::size_t test = 0;
  for (PartId p = 0; p < book_.parts(); ++p) {
    const std::filesystem::path part = part_directory(directory_, p);
    const NodeId begin = book_.begin(p);
    const NodeId end = book_.end(p);
    Split& split = splits_.emplace_back();
    RUDDER_TRY(open_split(part / "train.npy", begin, end, split.train, split.train_view));
    RUDDER_TRY(open_split(part / "val.npy", begin, end, split.val, split.val_view));
    RUDDER_TRY(open_split(part / "test.npy", begin, end, split.test, split.test_view));
    train += split.train_view.size();
    val += split.val_view.size();
    test += split.test_view.size();
  }
  const std::string where = directory_.string();
  RUDDER_TRY(check_total(where, "train", train, meta_.train));
  RUDDER_TRY(check_total(where, "val", val, meta_.val));
  return check_total(where, "test", test, meta_.test);
}

Result<Part> PartitionedGraph::open_part(PartId p, FeatureMemory memory) const {
  if (p >= book_.parts()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: part {} of {}", directory_.string(), p, book_.parts())};
  }
  const std::filesystem::path directory = part_directory(directory_, p);
  Part part;
  part.id_ = p;
  part.begin_ = book_.begin(p);
  part.size_ = book_.size(p);
  RUDDER_TRY(open_features(directory / "features.npy", kPartitionJson, meta_, part.size_, part.features_));
  const std::size_t bytes = part.features_.bytes().size();
  if (memory == FeatureMemory::kLoaded) {
    RUDDER_ASSIGN(part.loaded_, load(part.features_));
  } else if (bytes > available_memory_bytes()) {
    part.features_.advise_random();  // what is read ahead would drive out what is needed
  }
  RUDDER_TRY(open_labels(directory / "labels.npy", kPartitionJson, meta_, part.size_, part.labels_,
                         part.labels_view_, part.label_rows_view_));
  RUDDER_TRY(check_label_rows(part.label_rows_view_, at(meta_.classes), part.labels_.where()));
  for (std::size_t i = 0; i < part.labels_view_.size(); ++i) {
    if (const std::int64_t label = part.labels_view_[i]; label < -1 || label >= meta_.classes) {
      return invalid(part.labels_.where(),
                     fmt::format("label {} of row {} is outside [-1, {})", label, i, meta_.classes));
    }
  }
  RUDDER_TRY(check_rows(part));
  return part;
}

Status PartitionedGraph::check_rows(const Part& part) const {
  if (row_digests_.empty()) {
    return {};
  }
  const auto classes = at(meta_.classes);
  const std::string actual = rows_digest(
      at(part.size()),
      [&](std::size_t row) { return part.features().subspan(row * row_bytes(), row_bytes()); },
      [&](std::size_t row) {
        return meta_.multi_label ? std::as_bytes(part.label_rows().subspan(row * classes, classes))
                                 : std::as_bytes(part.labels().subspan(row, 1));
      });
  if (actual != row_digests_[part.id()]) {
    return invalid(
        part_directory(directory_, part.id()).string(),
        fmt::format("features or labels are not those that {} was written with: of another graph, or damaged",
                    kPartitionJson));
  }
  return {};
}

std::vector<NodeId> halo_of(const CscSlice& part, NodeId nodes) {
  std::vector<bool> adjacent(at(nodes));
  for (NodeId v = part.begin; v < part.end(); ++v) {
    for (const NodeId u : part.neighbors(v)) {
      adjacent[at(u)] = true;
    }
  }
  std::vector<NodeId> halo;
  for (NodeId u = 0; u < nodes; ++u) {
    if (adjacent[at(u)] && !part.owns(u)) {
      halo.push_back(u);
    }
  }
  return halo;
}

}  // namespace rudder::graph

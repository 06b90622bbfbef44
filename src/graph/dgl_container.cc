// SPDX-License-Identifier: Apache-2.0
#include "graph/dgl_container.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "graph/import_common.h"

namespace rudder::graph {
namespace {

constexpr std::uint64_t kTensorFileMagic = 0xDD5A9FBE3FA2443FULL;
constexpr std::uint64_t kNDArrayMagic = 0xDD5E40F096B4A13FULL;
constexpr std::uint64_t kGraphFileMagic = 0xDD2E4FF046B4A13FULL;
constexpr std::uint64_t kHeteroGraphMagic = 0xDD589FBE35224ABFULL;
constexpr std::uint64_t kImmutableGraphMagic = 0xDD3C5FFE20046ABFULL;
constexpr std::uint64_t kUnitGraphMagic = 0xDD2E60F0F6B4A127ULL;
constexpr std::uint64_t kCooMagic = 0xDD61FFD305DFF127ULL;
constexpr std::uint64_t kCsrMagic = 0xDD6CD31205DFF127ULL;

constexpr std::size_t kHeaderBytes = 4096;
constexpr std::uint64_t kHeteroKind = 2;
constexpr std::size_t kMaxName = 4096;
constexpr std::int32_t kMaxDimensions = 8;

std::optional<DType> dtype_of(unsigned code, unsigned bits) {
  struct Known {
    unsigned code, bits;
    DType type;
  };
  constexpr Known kKnown[] = {{0, 8, DType::kI8},   {0, 16, DType::kI16}, {0, 32, DType::kI32},
                              {0, 64, DType::kI64}, {1, 8, DType::kU8},   {1, 16, DType::kU16},
                              {1, 32, DType::kU32}, {1, 64, DType::kU64}, {2, 16, DType::kF16},
                              {2, 32, DType::kF32}, {2, 64, DType::kF64}, {4, 16, DType::kBF16}};
  for (const Known& known : kKnown) {
    if (known.code == code && known.bits == bits) {
      return known.type;
    }
  }
  return std::nullopt;
}

/// Reads the nested records of a container from front to back.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] bool at_end() const { return position_ == bytes_.size(); }
  void seek(std::size_t position) { position_ = position; }

  Error fail(std::string_view what) const {
    return invalid(where_, fmt::format("byte {}: {}", position_, what));
  }

  template <class T>
  Result<T> number() {
    RUDDER_ASSIGN(const auto bytes, take(sizeof(T)));
    T value{};
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  Result<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > bytes_.size() - position_) {
      return fail(fmt::format("{} bytes are expected, {} are left", count, bytes_.size() - position_));
    }
    const auto bytes = bytes_.subspan(position_, count);
    position_ += count;
    return bytes;
  }
  Status magic(std::uint64_t expected, std::string_view what) {
    RUDDER_ASSIGN(const auto value, number<std::uint64_t>());
    if (value != expected) {
      position_ -= sizeof(value);
      return fail(fmt::format("{:016X} is not the mark of a {}", value, what));
    }
    return {};
  }
  /// A count of records that take at least `record_bytes` each.
  Result<std::size_t> count(std::size_t record_bytes, std::string_view what) {
    RUDDER_ASSIGN(const auto value, number<std::uint64_t>());
    if (value > (bytes_.size() - position_) / record_bytes) {
      return fail(fmt::format("{} {} do not fit the {} bytes left", value, what, bytes_.size() - position_));
    }
    return static_cast<std::size_t>(value);
  }
  Result<std::string> name() {
    RUDDER_ASSIGN(const std::size_t length, count(1, "characters"));
    if (length > kMaxName) {
      return fail(fmt::format("a name of {} bytes", length));
    }
    RUDDER_ASSIGN(const auto bytes, take(length));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  Result<std::vector<std::string>> names() {
    RUDDER_ASSIGN(const std::size_t length, count(sizeof(std::uint64_t), "names"));
    std::vector<std::string> out;
    for (std::size_t i = 0; i < length; ++i) {
      RUDDER_ASSIGN(std::string text, name());
      out.push_back(std::move(text));
    }
    return out;
  }

  Result<DglTensor> tensor() {
    RUDDER_TRY(magic(kNDArrayMagic, "tensor"));
    RUDDER_ASSIGN(const auto reserved, number<std::uint64_t>());
    RUDDER_ASSIGN(const auto device, number<std::int32_t>());
    RUDDER_ASSIGN(const auto device_id, number<std::int32_t>());
    RUDDER_ASSIGN(const auto dimensions, number<std::int32_t>());
    RUDDER_ASSIGN(const auto code, number<std::uint8_t>());
    RUDDER_ASSIGN(const auto bits, number<std::uint8_t>());
    RUDDER_ASSIGN(const auto lanes, number<std::uint16_t>());
    const std::optional<DType> type = dtype_of(code, bits);
    if (reserved != 0 || device != 1 || device_id != 0 || dimensions < 0 || dimensions > kMaxDimensions) {
      return fail(fmt::format("a tensor of {} dimensions on device {}:{} with {} in its reserved field",
                              dimensions, device, device_id, reserved));
    }
    if (!type || lanes != 1) {
      return Error{Errc::kUnsupported,
                   fmt::format("{}: byte {}: elements of code {}, {} bits, {} lanes are not read", where_,
                               position_, code, bits, lanes)};
    }
    DglTensor out;
    out.dtype = *type;
    std::size_t needed = size_of(*type);
    for (std::int32_t i = 0; i < dimensions; ++i) {
      RUDDER_ASSIGN(const auto extent, number<std::int64_t>());
      // Zero extents count as one here, so that the product of the others stays bounded as well.
      if (extent < 0 ||
          needed > (std::size_t{1} << 60) / std::max<std::uint64_t>(1, static_cast<std::uint64_t>(extent))) {
        return fail(fmt::format("extent {} of a tensor", extent));
      }
      out.shape.push_back(static_cast<std::size_t>(extent));
      needed *= std::max<std::size_t>(1, out.shape.back());
    }
    if (std::find(out.shape.begin(), out.shape.end(), 0U) != out.shape.end()) {
      needed = 0;
    }
    RUDDER_ASSIGN(const auto length, number<std::int64_t>());
    if (length < 0 || static_cast<std::size_t>(length) != needed) {
      return fail(fmt::format("{} bytes in a tensor of shape ({}) and type {}", length,
                              fmt::join(out.shape, ", "), name_of(out.dtype)));
    }
    RUDDER_ASSIGN(out.bytes, take(needed));
    return out;
  }

  Result<DglTensors> named_tensors() {
    constexpr std::size_t kLeast = 8 + 48;
    RUDDER_ASSIGN(const std::size_t length, count(kLeast, "tensors"));
    DglTensors out;
    for (std::size_t i = 0; i < length; ++i) {
      RUDDER_ASSIGN(std::string key, name());
      RUDDER_ASSIGN(DglTensor value, tensor());
      if (find_tensor(out, key) != nullptr) {
        return fail(fmt::format("a second tensor named '{}'", shown(key)));
      }
      out.emplace_back(std::move(key), std::move(value));
    }
    return out;
  }
  Result<std::vector<DglTensors>> tensors_by_type() {
    RUDDER_ASSIGN(const std::size_t types, count(sizeof(std::uint64_t), "types"));
    std::vector<DglTensors> out;
    for (std::size_t i = 0; i < types; ++i) {
      RUDDER_ASSIGN(DglTensors tensors, named_tensors());
      out.push_back(std::move(tensors));
    }
    return out;
  }

  Result<DglSparse> sparse(DglSparse::Form form) {
    const bool coo = form == DglSparse::Form::kCoo;
    RUDDER_TRY(magic(coo ? kCooMagic : kCsrMagic, coo ? "COO matrix" : "CSR matrix"));
    DglSparse out;
    out.form = form;
    RUDDER_ASSIGN(out.columns, number<std::int64_t>());
    RUDDER_ASSIGN(out.rows, number<std::int64_t>());
    RUDDER_ASSIGN(out.first, tensor());
    RUDDER_ASSIGN(out.second, tensor());
    RUDDER_ASSIGN(out.edge_ids, tensor());
    // Flags that tell what is sorted; nothing here relies on them.
    RUDDER_TRY(take(coo ? 2 : 1));
    return out;
  }
  /// A graph of graph types: precedes every matrix and holds nothing that is needed.
  Status skip_metagraph() {
    RUDDER_TRY(magic(kImmutableGraphMagic, "metagraph"));
    RUDDER_TRY(sparse(DglSparse::Form::kCsr));
    return {};
  }

  Result<std::vector<DglSparse>> unit_graph() {
    RUDDER_TRY(magic(kUnitGraphMagic, "relation"));
    RUDDER_ASSIGN(const auto saved, number<std::uint64_t>());
    RUDDER_ASSIGN(const auto formats, number<std::uint64_t>());
    static_cast<void>(formats);  // those that DGL may create later
    // Bit 32 tells a mask of COO 1, CSR 2, CSC 4 from the older enumeration 1, 2, 3.
    constexpr std::uint64_t kIsMask = std::uint64_t{1} << 32;
    const bool is_mask = (saved & kIsMask) != 0;
    const std::uint64_t code = saved & ~kIsMask;
    if (code == 0 || code > (is_mask ? 7U : 3U)) {
      return fail(fmt::format("sparse formats {:#x}", saved));
    }
    const std::uint64_t mask = is_mask ? code : std::uint64_t{1} << (code - 1);
    std::vector<DglSparse> out;
    for (const auto form : {DglSparse::Form::kCoo, DglSparse::Form::kCsr, DglSparse::Form::kCsc}) {
      if ((mask >> static_cast<unsigned>(form) & 1U) != 0) {
        RUDDER_TRY(skip_metagraph());
        RUDDER_ASSIGN(DglSparse matrix, sparse(form));
        out.push_back(std::move(matrix));
      }
    }
    return out;
  }

  Result<DglGraph> graph() {
    DglGraph out;
    RUDDER_TRY(magic(kHeteroGraphMagic, "graph"));
    RUDDER_TRY(skip_metagraph());
    RUDDER_ASSIGN(const std::size_t relations, count(24, "relations"));
    for (std::size_t i = 0; i < relations; ++i) {
      RUDDER_ASSIGN(std::vector<DglSparse> forms, unit_graph());
      out.relations.push_back(std::move(forms));
    }
    RUDDER_ASSIGN(const std::size_t types, count(sizeof(std::int64_t), "node counts"));
    for (std::size_t i = 0; i < types; ++i) {
      RUDDER_ASSIGN(const auto nodes, number<std::int64_t>());
      out.nodes_per_type.push_back(nodes);
    }
    RUDDER_ASSIGN(out.node_tensors, tensors_by_type());
    RUDDER_ASSIGN(out.edge_tensors, tensors_by_type());
    RUDDER_ASSIGN(out.node_types, names());
    RUDDER_ASSIGN(out.edge_types, names());
    if (out.node_tensors.size() != types || out.node_types.size() != types ||
        out.edge_tensors.size() != relations || out.edge_types.size() != relations) {
      return fail(fmt::format("{} node types with {} tensor lists and {} names, {} edge types with {} and {}",
                              types, out.node_tensors.size(), out.node_types.size(), relations,
                              out.edge_tensors.size(), out.edge_types.size()));
    }
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
  std::size_t position_ = 0;
};

/// The index at the end of a graph file: its length, the graphs' offsets, its length again.
Status check_index(Reader& reader, const std::vector<std::size_t>& begins) {
  RUDDER_ASSIGN(const auto length, reader.number<std::uint64_t>());
  RUDDER_ASSIGN(const auto graphs, reader.number<std::uint64_t>());
  if (graphs != begins.size() || length != sizeof(std::uint64_t) * (begins.size() + 1)) {
    return reader.fail(
        fmt::format("an index of {} bytes for {} graphs after {} graphs", length, graphs, begins.size()));
  }
  for (const std::size_t begin : begins) {
    RUDDER_ASSIGN(const auto offset, reader.number<std::uint64_t>());
    if (offset != begin) {
      return reader.fail(
          fmt::format("the index says that a graph begins at {}, but it began at {}", offset, begin));
    }
  }
  RUDDER_ASSIGN(const auto again, reader.number<std::uint64_t>());
  if (again != length || !reader.at_end()) {
    return reader.fail("the index does not end the file");
  }
  return {};
}

}  // namespace

const DglTensor* find_tensor(const DglTensors& tensors, std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& item) { return item.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

Result<DglTensors> read_dgl_tensors(std::span<const std::byte> bytes, const std::string& where) {
  Reader reader(bytes, where);
  RUDDER_TRY(reader.magic(kTensorFileMagic, "tensor file"));
  RUDDER_ASSIGN(const auto declared, reader.number<std::uint64_t>());
  RUDDER_ASSIGN(DglTensors tensors, reader.named_tensors());
  if (declared != tensors.size()) {
    return reader.fail(fmt::format("{} tensors declared, {} present", declared, tensors.size()));
  }
  if (!reader.at_end()) {
    return reader.fail("bytes follow the last tensor");
  }
  return tensors;
}

Result<DglGraphFile> read_dgl_graphs(std::span<const std::byte> bytes, const std::string& where) {
  Reader reader(bytes, where);
  RUDDER_TRY(reader.magic(kGraphFileMagic, "DGL graph file"));
  RUDDER_ASSIGN(const auto version, reader.number<std::uint64_t>());
  if (version != 2) {
    return Error{
        Errc::kUnsupported,
        fmt::format("{}: version {} of DGL's graph files; version 2 is read (load and save it again with a "
                    "current DGL)",
                    where, version)};
  }
  RUDDER_ASSIGN(const auto kind, reader.number<std::uint64_t>());
  RUDDER_ASSIGN(const auto declared, reader.number<std::uint64_t>());
  if (kind != kHeteroKind) {
    return Error{Errc::kUnsupported, fmt::format("{}: graph kind {}; {} is read", where, kind, kHeteroKind)};
  }
  if (bytes.size() < kHeaderBytes || declared > bytes.size() / sizeof(std::uint64_t)) {
    return reader.fail(fmt::format("{} graphs in a file of {} bytes", declared, bytes.size()));
  }
  // The rest of the header is whatever was in memory.
  reader.seek(kHeaderBytes);
  DglGraphFile file;
  RUDDER_ASSIGN(const auto start, reader.number<std::uint64_t>());
  RUDDER_ASSIGN(file.labels, reader.named_tensors());
  if (start != reader.position()) {
    return reader.fail(fmt::format("the header says that graphs begin at {}", start));
  }
  std::vector<std::size_t> begins;
  for (std::uint64_t i = 0; i < declared; ++i) {
    begins.push_back(reader.position());
    RUDDER_ASSIGN(DglGraph graph, reader.graph());
    file.graphs.push_back(std::move(graph));
  }
  RUDDER_TRY(check_index(reader, begins));
  return file;
}

}  // namespace rudder::graph

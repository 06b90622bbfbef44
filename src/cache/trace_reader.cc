// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/cache/trace.h"
#include "rudder/core/files.h"
#include "rudder/core/machine.h"
#include "rudder/core/sha256.h"

#include "cache/trace_format.h"

namespace rudder::cache {
namespace {

using trace_format::Kind;
using trace_format::Section;

/// A section and where its packed data lies.
struct Placed {
  Section section;
  std::size_t data = 0;
};

/// Declared counts of one rank's sections (degrees: under rank 0).
struct Totals {
  std::uint64_t degrees = 0;
  std::uint64_t halo = 0;
  std::uint64_t vip = 0;
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
};

/// One pass over the section headers, the checksum, then the contents: nothing is allocated before the sizes
/// it needs were held against the bytes that are there and against the memory limit.
class TraceReader {
 public:
  TraceReader(const std::filesystem::path& path, std::span<const std::byte> bytes, std::size_t memory_limit)
      : path_(path), bytes_(bytes), memory_limit_(memory_limit) {}

  Result<Trace> read() {
    RUDDER_TRY(check_prefix());
    RUDDER_TRY(find_sections());
    RUDDER_TRY(check_digest());
    RUDDER_TRY(read_header());
    RUDDER_TRY(check_totals());
    reserve_arrays();
    for (std::size_t i = 1; i + 1 < sections_.size(); ++i) {
      RUDDER_TRY(read_section(i));
    }
    const std::string defect = trace_format::arrays_defect(trace_.header);
    if (!defect.empty()) {
      return invalid(defect);
    }
    return std::move(trace_);
  }

 private:
  Error invalid(const std::string& what) const {
    return {Errc::kInvalidData, fmt::format("{}: {}", path_.string(), what)};
  }
  Error invalid_section(std::size_t index, const std::string& what) const {
    const Placed& placed = sections_[index];
    return invalid(fmt::format("section {} ({} of rank {}) at byte {}: {}", index,
                               trace_format::name_of(placed.section.kind), placed.section.rank,
                               placed.data - trace_format::kSectionBytes, what));
  }

  Status check_prefix() const;
  Status find_sections();
  Status check_section(std::size_t index) const;
  Status check_digest() const;
  Status read_header();
  Status check_totals();
  void reserve_arrays();
  Result<std::span<const std::byte>> unpack(std::size_t index);
  Status read_section(std::size_t index);
  Status read_degrees(std::size_t index, std::span<const std::byte> raw);
  Status read_halo(std::size_t index, std::span<const std::byte> raw);
  void read_vip(std::size_t index, std::span<const std::byte> raw);
  Status read_batches(std::size_t index, std::span<const std::byte> raw);
  Status read_ids(std::size_t index, trace_format::VarintReader& in, std::uint64_t count,
                  std::vector<NodeId>& out) const;

  const std::filesystem::path& path_;
  std::span<const std::byte> bytes_;
  std::size_t memory_limit_;
  std::vector<Placed> sections_;
  std::vector<Totals> totals_;  ///< by rank
  std::vector<std::byte> raw_;  ///< the unpacked section
  Trace trace_;
};

Status TraceReader::check_prefix() const {
  const auto magic = std::as_bytes(std::span(trace_format::kMagic));
  const std::size_t shown = std::min(bytes_.size(), magic.size());
  if (!std::equal(magic.begin(), magic.begin() + static_cast<std::ptrdiff_t>(shown), bytes_.begin())) {
    return invalid("not a Rudder trace (wrong first bytes)");
  }
  if (bytes_.size() < trace_format::kPrefixBytes) {
    return invalid(fmt::format("truncated: {} bytes", bytes_.size()));
  }
  std::uint32_t version = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    version |= std::to_integer<std::uint32_t>(bytes_[magic.size() + i]) << (8 * i);
  }
  if (version != trace_format::kVersion) {
    return Error{Errc::kUnsupported, fmt::format("{}: trace version {}, this program reads {}",
                                                 path_.string(), version, trace_format::kVersion)};
  }
  return {};
}

Status TraceReader::find_sections() {
  std::size_t at = trace_format::kPrefixBytes;
  while (sections_.empty() || sections_.back().section.kind != Kind::kEnd) {
    if (bytes_.size() - at < trace_format::kSectionBytes) {
      return invalid(fmt::format("truncated in the head of section {} at byte {}", sections_.size(), at));
    }
    Placed placed;
    placed.section = trace_format::decode_section(bytes_.subspan(at, trace_format::kSectionBytes));
    at += trace_format::kSectionBytes;
    placed.data = at;
    sections_.push_back(placed);
    if (sections_.size() > memory_limit_ / sizeof(Placed)) {
      return Error{Errc::kResource, fmt::format("{}: over {} sections exceed the memory limit of {} bytes",
                                                path_.string(), sections_.size() - 1, memory_limit_)};
    }
    RUDDER_TRY(check_section(sections_.size() - 1));
    at += placed.section.packed;
  }
  if (bytes_.size() - at != trace_format::kDigestBytes) {
    return invalid(fmt::format("{} bytes follow the last section at byte {}, expected the {} of the checksum",
                               bytes_.size() - at, at, trace_format::kDigestBytes));
  }
  return {};
}

Status TraceReader::check_section(std::size_t index) const {
  const Section& section = sections_[index].section;
  if (section.kind < Kind::kHeader || section.kind > Kind::kEnd) {
    return invalid_section(index, fmt::format("unknown kind {}", static_cast<unsigned>(section.kind)));
  }
  if ((section.kind == Kind::kHeader) != (index == 0)) {
    return invalid_section(index, "the header must be the first section and only that");
  }
  const std::size_t left = bytes_.size() - sections_[index].data;
  if (section.packed > left) {
    return invalid_section(index,
                           fmt::format("truncated: needs {} bytes, {} are left", section.packed, left));
  }
  if (section.raw > trace_format::kMaxRawBytes ||
      section.raw > section.packed * trace_format::kMaxExpansion ||
      (section.kind == Kind::kHeader && section.raw > trace_format::kMaxHeaderBytes)) {
    return invalid_section(index, fmt::format("declares {} bytes in {} packed ones, more than can be",
                                              section.raw, section.packed));
  }
  const bool is_vip = section.kind == Kind::kVip;
  const bool fits = is_vip ? section.raw % 4 == 0 && section.count == section.raw / 4
                           : section.count <= section.raw && section.rows <= section.raw - section.count;
  const bool is_array = section.kind != Kind::kHeader && section.kind != Kind::kEnd;
  if (!fits || (section.kind != Kind::kBatches && section.rows != 0) || is_array != (section.count != 0) ||
      (section.kind == Kind::kEnd && section.raw != 0)) {
    return invalid_section(index, fmt::format("declares {} elements and {} rows in {} bytes", section.count,
                                              section.rows, section.raw));
  }
  return {};
}

Status TraceReader::check_digest() const {
  const std::size_t covered = bytes_.size() - trace_format::kDigestBytes;
  Sha256 hash;
  hash.update(bytes_.first(covered));
  const Sha256::Digest digest = hash.digest();
  if (!std::ranges::equal(std::as_bytes(std::span(digest)), bytes_.subspan(covered))) {
    return invalid(fmt::format("checksum at byte {} does not match: the file is damaged", covered));
  }
  return {};
}

Result<std::span<const std::byte>> TraceReader::unpack(std::size_t index) {
  const Placed& placed = sections_[index];
  raw_.resize(placed.section.raw);
  const Status status = trace_format::inflate_bytes(bytes_.subspan(placed.data, placed.section.packed), raw_);
  if (!status.ok()) {
    return status.error().code == Errc::kInvalidData ? invalid_section(index, status.error().message)
                                                     : status.error().in(path_.string());
  }
  return std::span<const std::byte>(raw_);
}

Status TraceReader::read_header() {
  RUDDER_ASSIGN(const std::span<const std::byte> raw, unpack(0));
  auto header = trace_format::header_from_json({reinterpret_cast<const char*>(raw.data()), raw.size()});
  if (!header.ok()) {
    return invalid_section(0, header.error().message);
  }
  const std::string defect = trace_format::book_defect(*header);
  if (!defect.empty()) {
    return invalid_section(0, defect);
  }
  trace_.header = std::move(header).value();
  return {};
}

/// Holds the declared sizes against the header and the memory limit.
Status TraceReader::check_totals() {
  const TraceHeader& header = trace_.header;
  totals_.resize(header.ranks());
  std::uint64_t largest = 0;
  std::uint64_t needed = 0;
  for (std::size_t i = 1; i + 1 < sections_.size(); ++i) {
    const Section& section = sections_[i].section;
    if (section.rank >= header.ranks()) {
      return invalid_section(i, fmt::format("the trace has {} ranks", header.ranks()));
    }
    Totals& total = totals_[section.rank];
    (section.kind == Kind::kDegrees ? total.degrees
     : section.kind == Kind::kHalo  ? total.halo
     : section.kind == Kind::kVip   ? total.vip
                                    : total.batches) += section.count;
    total.rows += section.rows;
    largest = std::max(largest, section.raw);
    needed += section.count * (section.kind == Kind::kVip ? sizeof(float) : sizeof(NodeId)) +
              section.rows * sizeof(NodeId);
  }
  const auto nodes = static_cast<std::uint64_t>(header.nodes);
  for (Rank rank = 0; rank < header.ranks(); ++rank) {
    const Totals& total = totals_[rank];
    if (total.batches != header.steps()) {
      return invalid(fmt::format("rank {} has {} of {} batches", rank, total.batches, header.steps()));
    }
    if (total.vip != 0 && total.vip != nodes) {
      return invalid(fmt::format("vip of rank {} has {} values for {} nodes", rank, total.vip, nodes));
    }
    if (total.degrees != 0 && (total.degrees != nodes || rank != 0)) {
      return invalid(fmt::format("{} degrees (section rank {}) for {} nodes", total.degrees, rank, nodes));
    }
  }
  // Counts are bounded by the file's size times the largest expansion, so the sums cannot overflow.
  if (needed + largest > memory_limit_) {
    return Error{Errc::kResource, fmt::format("{}: needs {} bytes of memory, the limit is {}", path_.string(),
                                              needed + largest, memory_limit_)};
  }
  return {};
}

/// Makes room for what check_totals() counted.
void TraceReader::reserve_arrays() {
  TraceHeader& header = trace_.header;
  if (totals_[0].degrees != 0) {
    header.indptr.reserve(totals_[0].degrees + 1);
    header.indptr.push_back(0);
  }
  header.halo.resize(header.ranks());
  const bool has_vip = std::ranges::any_of(totals_, [](const Totals& total) { return total.vip != 0; });
  header.vip.resize(has_vip ? header.ranks() : 0);
  trace_.ranks.resize(header.ranks());
  for (Rank rank = 0; rank < header.ranks(); ++rank) {
    header.halo[rank].reserve(totals_[rank].halo);
    if (has_vip) {
      header.vip[rank].reserve(totals_[rank].vip);
    }
    trace_.ranks[rank].rows.reserve(totals_[rank].rows);
    trace_.ranks[rank].offsets.reserve(totals_[rank].batches + 1);
    trace_.ranks[rank].offsets.push_back(0);
  }
}

Status TraceReader::read_section(std::size_t index) {
  RUDDER_ASSIGN(const std::span<const std::byte> raw, unpack(index));
  switch (sections_[index].section.kind) {
    case Kind::kDegrees:
      return read_degrees(index, raw);
    case Kind::kHalo:
      return read_halo(index, raw);
    case Kind::kVip:
      read_vip(index, raw);
      return {};
    case Kind::kBatches:
      return read_batches(index, raw);
    case Kind::kHeader:
    case Kind::kEnd:
      break;
  }
  return invalid_section(index, "unexpected kind");
}

Status TraceReader::read_degrees(std::size_t index, std::span<const std::byte> raw) {
  trace_format::VarintReader in(raw);
  std::vector<EdgeIndex>& indptr = trace_.header.indptr;
  for (std::uint64_t i = 0; i < sections_[index].section.count; ++i) {
    const auto degree = in.next();
    if (!degree ||
        *degree > static_cast<std::uint64_t>(std::numeric_limits<EdgeIndex>::max() - indptr.back())) {
      return invalid_section(index, fmt::format("degree {} is missing or too large", i));
    }
    indptr.push_back(indptr.back() + static_cast<EdgeIndex>(*degree));
  }
  return in.at_end() ? Status{} : invalid_section(index, "bytes follow the last degree");
}

Status TraceReader::read_ids(std::size_t index, trace_format::VarintReader& in, std::uint64_t count,
                             std::vector<NodeId>& out) const {
  constexpr NodeId kLargest = std::numeric_limits<NodeId>::max() - 1;
  NodeId least = 0;  // the next id may not be smaller
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto gap = in.next();
    if (!gap || least > kLargest || *gap > static_cast<std::uint64_t>(kLargest - least)) {
      return invalid_section(index, fmt::format("id {} of {} is missing or too large", i, count));
    }
    out.push_back(least + static_cast<NodeId>(*gap));
    least = out.back() + 1;
  }
  return {};
}

Status TraceReader::read_halo(std::size_t index, std::span<const std::byte> raw) {
  trace_format::VarintReader in(raw);
  const Section& section = sections_[index].section;
  RUDDER_TRY(read_ids(index, in, section.count, trace_.header.halo[section.rank]));
  return in.at_end() ? Status{} : invalid_section(index, "bytes follow the last id");
}

void TraceReader::read_vip(std::size_t index, std::span<const std::byte> raw) {
  std::vector<float>& vip = trace_.header.vip[sections_[index].section.rank];
  for (std::size_t at = 0; at < raw.size(); at += 4) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      bits |= std::to_integer<std::uint32_t>(raw[at + i]) << (8 * i);
    }
    vip.push_back(std::bit_cast<float>(bits));
  }
}

Status TraceReader::read_batches(std::size_t index, std::span<const std::byte> raw) {
  trace_format::VarintReader in(raw);
  const Section& section = sections_[index].section;
  Trace::RankBatches& batches = trace_.ranks[section.rank];
  std::uint64_t left = section.rows;
  for (std::uint64_t i = 0; i < section.count; ++i) {
    const auto count = in.next();
    const std::uint64_t step = batches.offsets.size() - 1;
    if (!count || *count > left) {
      return invalid_section(index,
                             fmt::format("batch {}: row count is missing or above the {} declared rows "
                                         "that are left",
                                         step, left));
    }
    left -= *count;
    const std::size_t begin = batches.rows.size();
    RUDDER_TRY(read_ids(index, in, *count, batches.rows));
    const std::string defect =
        trace_format::rows_defect(trace_.header, section.rank, std::span(batches.rows).subspan(begin));
    if (!defect.empty()) {
      return invalid_section(index, fmt::format("batch {}: {}", step, defect));
    }
    batches.offsets.push_back(batches.rows.size());
  }
  if (left != 0 || !in.at_end()) {
    return invalid_section(index, fmt::format("{} declared rows are missing or bytes are left", left));
  }
  return {};
}

}  // namespace

Result<Trace> read_trace(const std::filesystem::path& path, std::size_t memory_limit) {
  RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::size_t limit = memory_limit != 0 ? memory_limit : available_memory_bytes() / 2;
  try {
    return TraceReader(path, file.bytes(), limit).read();
  } catch (const std::bad_alloc&) {
    return Error{Errc::kResource, fmt::format("{}: not enough memory for the trace", path.string())};
  }
}

}  // namespace rudder::cache

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/cache/trace.h"
#include "rudder/core/files.h"
#include "rudder/core/sha256.h"

#include "cache/trace_format.h"

namespace rudder::cache {

using trace_format::Kind;
using trace_format::Section;

namespace {

constexpr std::size_t kArrayChunk = std::size_t{1} << 20;   // elements of one section
constexpr std::size_t kAllPending = std::size_t{64} << 20;  // bytes waiting over all ranks, about

Section make_section(Kind kind, Rank rank, std::uint64_t count, std::uint64_t rows) {
  Section section;
  section.kind = kind;
  section.rank = rank;
  section.count = count;
  section.rows = rows;
  return section;
}

Error bad_header(const std::filesystem::path& path, const std::string& defect) {
  return {Errc::kInvalidArgument, fmt::format("{}: trace header: {}", path.string(), defect)};
}

}  // namespace

struct TraceWriter::Impl {
  /// Batches of one rank that are in no section yet.
  struct Pending {
    std::string raw;
    std::uint64_t batches = 0;
    std::uint64_t rows = 0;
    StepId next = 0;
  };

  Impl(AtomicFile opened, std::filesystem::path where, const TraceHeader& full)
      : file(std::move(opened)), path(std::move(where)), pending(full.ranks()) {
    book.nodes = full.nodes;
    book.epochs = full.epochs;
    book.steps_per_epoch = full.steps_per_epoch;
    book.part_offsets = full.part_offsets;
    flush_at = std::clamp(kAllPending / pending.size(), std::size_t{16} << 10, std::size_t{1} << 20);
  }

  Status write(std::span<const std::byte> bytes) {
    hash.update(bytes);
    return file.write(bytes);
  }

  Status write_section(Section section, std::string_view raw) {
    auto packed = trace_format::deflate_bytes(raw);
    if (!packed.ok()) {
      return packed.error().in(
          fmt::format("{}: {} of rank {}", path.string(), trace_format::name_of(section.kind), section.rank));
    }
    section.raw = raw.size();
    section.packed = packed->size();
    RUDDER_TRY(write(trace_format::encode_section(section)));
    return write(*packed);
  }

  /// Cuts an array into sections; encode(chunk, raw) appends a chunk's raw data.
  template <class T, class Encode>
  Status write_array(Kind kind, Rank rank, std::span<const T> values, const Encode& encode) {
    std::string raw;
    for (std::size_t at = 0; at < values.size(); at += kArrayChunk) {
      const std::span<const T> chunk = values.subspan(at, std::min(kArrayChunk, values.size() - at));
      raw.clear();
      encode(chunk, raw);
      RUDDER_TRY(write_section(make_section(kind, rank, chunk.size(), 0), raw));
    }
    return {};
  }

  Status write_arrays(const TraceHeader& header);
  Status flush(Rank rank);

  AtomicFile file;
  std::filesystem::path path;
  TraceHeader book;  ///< what append() checks against: counts and the partition book
  std::vector<Pending> pending;
  std::size_t flush_at = 0;
  Sha256 hash;
};

Status TraceWriter::Impl::write_arrays(const TraceHeader& header) {
  std::vector<std::uint64_t> degrees;
  degrees.reserve(header.indptr.size());
  for (std::size_t i = 1; i < header.indptr.size(); ++i) {
    degrees.push_back(static_cast<std::uint64_t>(header.indptr[i] - header.indptr[i - 1]));
  }
  RUDDER_TRY(write_array<std::uint64_t>(Kind::kDegrees, 0, degrees, [](auto chunk, std::string& raw) {
    for (const std::uint64_t degree : chunk) {
      trace_format::put_varint(raw, degree);
    }
  }));
  for (Rank rank = 0; rank < header.ranks(); ++rank) {
    RUDDER_TRY(write_array<NodeId>(Kind::kHalo, rank, header.halo[rank], [](auto chunk, std::string& raw) {
      trace_format::put_ascending(raw, chunk);
    }));
  }
  for (Rank rank = 0; rank < header.vip.size(); ++rank) {
    RUDDER_TRY(write_array<float>(Kind::kVip, rank, header.vip[rank], [](auto chunk, std::string& raw) {
      for (const float value : chunk) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (unsigned shift = 0; shift < 32; shift += 8) {
          raw.push_back(static_cast<char>((bits >> shift) & 0xff));
        }
      }
    }));
  }
  return {};
}

Status TraceWriter::Impl::flush(Rank rank) {
  Pending& waiting = pending[rank];
  if (waiting.batches == 0) {
    return {};
  }
  RUDDER_TRY(write_section(make_section(Kind::kBatches, rank, waiting.batches, waiting.rows), waiting.raw));
  waiting.raw.clear();
  waiting.batches = 0;
  waiting.rows = 0;
  return {};
}

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;
TraceWriter::~TraceWriter() = default;

Result<TraceWriter> TraceWriter::create(const std::filesystem::path& path, const TraceHeader& header) {
  if (const std::string defect = trace_format::book_defect(header); !defect.empty()) {
    return bad_header(path, defect);
  }
  if (const std::string defect = trace_format::arrays_defect(header); !defect.empty()) {
    return bad_header(path, defect);
  }
  const std::string json = trace_format::header_to_json(header);
  if (json.size() > trace_format::kMaxHeaderBytes) {
    return bad_header(
        path, fmt::format("{} bytes as JSON, allowed are {}", json.size(), trace_format::kMaxHeaderBytes));
  }
  RUDDER_ASSIGN(AtomicFile file, AtomicFile::create(path));
  auto impl = std::make_unique<Impl>(std::move(file), path, header);
  std::string prefix(trace_format::kMagic);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    prefix.push_back(static_cast<char>((trace_format::kVersion >> shift) & 0xff));
  }
  RUDDER_TRY(impl->write(std::as_bytes(std::span(prefix))));
  RUDDER_TRY(impl->write_section(make_section(Kind::kHeader, 0, 0, 0), json));
  RUDDER_TRY(impl->write_arrays(header));
  return TraceWriter(std::move(impl));
}

Status TraceWriter::append(Rank rank, StepId step, std::span<const NodeId> rows) {
  const auto refuse = [&](const std::string& what) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: batch {} of rank {}: {}", impl_->path.string(), step, rank, what)};
  };
  if (rank >= impl_->pending.size()) {
    return refuse(fmt::format("the trace has {} ranks", impl_->pending.size()));
  }
  Impl::Pending& waiting = impl_->pending[rank];
  if (step != waiting.next) {
    return refuse(fmt::format("batch {} comes next", waiting.next));
  }
  if (step >= impl_->book.steps()) {
    return refuse(fmt::format("the trace has {} batches a rank", impl_->book.steps()));
  }
  if (const std::string defect = trace_format::rows_defect(impl_->book, rank, rows); !defect.empty()) {
    return refuse(defect);
  }
  trace_format::put_varint(waiting.raw, rows.size());
  trace_format::put_ascending(waiting.raw, rows);
  ++waiting.next;
  ++waiting.batches;
  waiting.rows += rows.size();
  return waiting.raw.size() >= impl_->flush_at ? impl_->flush(rank) : Status{};
}

Status TraceWriter::commit() {
  const std::uint64_t steps = impl_->book.steps();
  for (Rank rank = 0; rank < impl_->pending.size(); ++rank) {
    if (impl_->pending[rank].next != steps) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: rank {} has {} of {} batches", impl_->path.string(), rank,
                               impl_->pending[rank].next, steps)};
    }
    RUDDER_TRY(impl_->flush(rank));
  }
  RUDDER_TRY(impl_->write_section(make_section(Kind::kEnd, 0, 0, 0), {}));
  const Sha256::Digest digest = impl_->hash.digest();
  RUDDER_TRY(impl_->file.write(std::as_bytes(std::span(digest))));
  return impl_->file.commit();
}

}  // namespace rudder::cache

// SPDX-License-Identifier: Apache-2.0
// Access traces. Checksums and compression would keep the fuzzer out, so that the target applies them: an
// input is a list of sections (kind, rank, count, rows, size, data), or the bytes of a file but its digest.
#include <string>

#include "rudder/cache/trace.h"
#include "rudder/core/sha256.h"

#include "cache/trace_format.h"
#include "fuzz_input.h"

namespace rudder::cache {
namespace {

namespace format = trace_format;

std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string sections(fuzz::Input& input) {
  std::string file(format::kMagic);
  for (std::size_t i = 0; i < 4; ++i) {
    file.push_back(static_cast<char>(format::kVersion >> (8 * i)));
  }
  while (!input.empty()) {
    format::Section section;
    section.kind = static_cast<format::Kind>(input.integer(1));
    section.rank = static_cast<Rank>(input.integer(1));
    section.count = input.integer(2);
    section.rows = input.integer(2);
    const std::string raw = as_text(input.bytes(input.integer(2)));
    const auto packed = format::deflate_bytes(raw);
    RUDDER_CHECK(packed.ok(), "zlib packs everything");
    section.raw = raw.size();
    section.packed = packed.value().size();
    file += as_text(format::encode_section(section)) + as_text(packed.value());
  }
  return file;
}

void check(const std::string& file) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(file)));
  const auto digest = hash.digest();
  const fuzz::MemoryFile whole(file + std::string(digest.begin(), digest.end()));
  const auto trace = read_trace(whole.path(), fuzz::kMemoryLimit);
  if (!trace.ok()) {
    return;
  }
  RUDDER_CHECK(format::book_defect(trace->header).empty(), "the book is sound");
  RUDDER_CHECK(format::arrays_defect(trace->header).empty(), "the arrays are sound");
  RUDDER_CHECK(trace->ranks.size() == trace->header.ranks(), "all ranks are there");
  for (Rank rank = 0; rank < trace->header.ranks(); ++rank) {
    for (StepId step = 0; step < trace->header.steps(); ++step) {
      RUDDER_CHECK(format::rows_defect(trace->header, rank, trace->ranks[rank].batch(step)).empty(),
                   "batches are sound");
    }
  }
}

}  // namespace
}  // namespace rudder::cache

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  if (input.below(2) == 0) {
    rudder::cache::check(rudder::cache::sections(input));
  } else {
    rudder::cache::check(std::string(input.text()));
  }
  return 0;
}

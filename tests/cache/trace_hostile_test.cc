// SPDX-License-Identifier: Apache-2.0
// Damaged, forged and foreign trace files.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/cache/trace.h"
#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/core/sha256.h"

#include "cache/trace_format.h"
#include "support/trace_files.h"

namespace rudder::cache {
namespace {

using namespace testing_support;
using testing::HasSubstr;
using trace_format::Kind;
using trace_format::Section;

TEST_F(TraceFile, TruncationAtAnyByteIsOneError) {
  const std::string whole = small_trace(file());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    overwrite(file(), std::string_view(whole).substr(0, size));
    const auto trace = read_trace(file());
    ASSERT_FALSE(trace.ok()) << "cut to " << size;
    EXPECT_THAT(trace.error().message, HasSubstr("t.trace: "));
    EXPECT_EQ(trace.error().code, Errc::kInvalidData);
  }
}

TEST_F(TraceFile, EveryFlippedBitIsAnError) {
  const std::string whole = small_trace(file());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned bit : {0U, 3U, 7U}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit));
      overwrite(file(), damaged);
      ASSERT_FALSE(read_trace(file()).ok()) << "bit " << bit << " of byte " << at;
    }
  }
}

/// The bytes with a new checksum at the end.
std::string sign(std::string bytes) {
  bytes.resize(bytes.size() - trace_format::kDigestBytes);
  Sha256 hash;
  hash.update(std::as_bytes(std::span(bytes)));
  const auto digest = hash.digest();
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return bytes;
}

TEST_F(TraceFile, SignedDamageIsRefusedOrReadsAsAValidTrace) {
  const std::string whole = small_trace(file());
  const std::size_t begin = trace_format::kPrefixBytes;
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CounterRng rng({seed, 5});
    std::string damaged = whole;
    for (std::uint64_t i = 0; i <= rng.below(3); ++i) {
      const std::size_t at = begin + rng.below(whole.size() - begin - trace_format::kDigestBytes);
      damaged[at] = static_cast<char>(rng.below(4) == 0 ? 0xff : rng.below(256));
    }
    overwrite(file(), sign(damaged));
    const auto trace = read_trace(file(), std::size_t{64} << 20);
    if (!trace.ok()) {
      EXPECT_THAT(trace.error().message, HasSubstr("t.trace")) << "seed " << seed;
      continue;
    }
    ++accepted;
    EXPECT_EQ(trace_format::book_defect(trace->header), "") << "seed " << seed;
    EXPECT_EQ(trace_format::arrays_defect(trace->header), "") << "seed " << seed;
    for (Rank rank = 0; rank < trace->header.ranks(); ++rank) {
      for (StepId step = 0; step < trace->header.steps(); ++step) {
        EXPECT_EQ(trace_format::rows_defect(trace->header, rank, trace->ranks[rank].batch(step)), "");
      }
    }
  }
  EXPECT_LT(accepted, 600U);
}

/// Builds files whose checksum is right but whose contents are not.
class Forger {
 public:
  Forger() : bytes_(trace_format::kMagic) { bytes_.append({1, 0, 0, 0}); }

  Forger& header(const std::string& json) { return section(Kind::kHeader, 0, 0, 0, json); }
  Forger& section(Kind kind, Rank rank, std::uint64_t count, std::uint64_t rows, const std::string& raw) {
    Section section;
    section.kind = kind;
    section.rank = rank;
    section.count = count;
    section.rows = rows;
    section.raw = raw.size();
    return packed(section, trace_format::deflate_bytes(raw).value());
  }
  Forger& packed(Section section, const std::vector<std::byte>& data) {
    section.packed = data.size();
    const auto head = trace_format::encode_section(section);
    bytes_.append(reinterpret_cast<const char*>(head.data()), head.size());
    bytes_.append(reinterpret_cast<const char*>(data.data()), data.size());
    return *this;
  }
  std::string end() {
    section(Kind::kEnd, 0, 0, 0, "");
    Sha256 hash;
    hash.update(std::as_bytes(std::span(bytes_)));
    const auto digest = hash.digest();
    bytes_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    return bytes_;
  }

 private:
  std::string bytes_;
};

constexpr const char* kBook =
    R"({"partition_digest":"","seed":1,"nodes":20,"row_bytes":4,"epochs":1,"steps_per_epoch":1,"batch":1,)"
    R"("fanout":[2],"part_offsets":[0,10,20]})";

class ForgedTrace : public TraceFile {
 protected:
  std::string refusal(const std::string& bytes, std::size_t memory_limit = 0) {
    EXPECT_TRUE(write_text(file(), bytes).ok());
    const auto trace = read_trace(file(), memory_limit);
    return trace.ok() ? "accepted" : trace.error().message;
  }
  static std::string ids(const std::vector<std::uint64_t>& numbers) {
    std::string raw;
    for (const std::uint64_t number : numbers) {
      trace_format::put_varint(raw, number);
    }
    return raw;
  }
};

TEST_F(ForgedTrace, TheForgerCanAlsoBeHonest) {
  EXPECT_EQ(refusal(Forger()
                        .header(kBook)
                        .section(Kind::kBatches, 0, 1, 1, ids({1, 12}))
                        .section(Kind::kBatches, 1, 1, 0, ids({0}))
                        .end()),
            "accepted");
}

TEST_F(ForgedTrace, RowsMustBeRemoteAndInRange) {
  const auto with_batch = [&](const std::string& raw, std::uint64_t rows) {
    return refusal(Forger()
                       .header(kBook)
                       .section(Kind::kBatches, 0, 1, rows, raw)
                       .section(Kind::kBatches, 1, 1, 0, ids({0}))
                       .end());
  };
  EXPECT_THAT(with_batch(ids({1, 5}), 1), HasSubstr("section 1 (batches of rank 0) at byte"));
  EXPECT_THAT(with_batch(ids({1, 5}), 1), HasSubstr("batch 0: row 5 is the rank's own, in [0, 10)"));
  EXPECT_THAT(with_batch(ids({1, 20}), 1), HasSubstr("row 20 is outside [0, 20)"));
  EXPECT_THAT(with_batch(ids({1, ~std::uint64_t{0}}), 1), HasSubstr("id 0 of 1 is missing or too large"));
  EXPECT_THAT(with_batch(ids({2, 12, (std::uint64_t{1} << 63) - 5}), 2), HasSubstr("id 1 of 2"));
  EXPECT_THAT(with_batch(ids({2, 12}), 1), HasSubstr("row count is missing or above the 1 declared rows"));
  EXPECT_THAT(with_batch(ids({2, 12}), 2), HasSubstr("declares 1 elements and 2 rows in 2 bytes"));
  EXPECT_THAT(with_batch(ids({1, 12, 13}), 1), HasSubstr("bytes are left"));
  EXPECT_THAT(with_batch(ids({1, 12}), 0), HasSubstr("above the 0 declared rows"));
  EXPECT_THAT(with_batch(std::string(12, '\xff'), 11), HasSubstr("row count is missing"));
}

TEST_F(ForgedTrace, DeclaredSizesAreHeldAgainstTheFileAndTheLimit) {
  Section bomb;
  bomb.kind = Kind::kBatches;
  bomb.count = 1;
  bomb.raw = std::uint64_t{1} << 29;
  EXPECT_THAT(refusal(Forger().header(kBook).packed(bomb, std::vector<std::byte>(100)).end()),
              HasSubstr("declares 536870912 bytes in 100 packed ones, more than can be"));
  // An honest bomb: 64 MiB of zeros, valid as batches without rows.
  const std::string zeros(std::size_t{64} << 20, '\0');
  const std::string book =
      R"({"partition_digest":"","seed":1,"nodes":20,"row_bytes":4,"epochs":1,"steps_per_epoch":67108864,"batch":1,)"
      R"("fanout":[2],"part_offsets":[0,20]})";
  const std::string file = Forger().header(book).section(Kind::kBatches, 0, zeros.size(), 0, zeros).end();
  EXPECT_LT(file.size(), std::size_t{1} << 20);
  EXPECT_THAT(refusal(file, std::size_t{100} << 20),
              HasSubstr("needs 603979776 bytes of memory, the limit is"));
}

TEST_F(ForgedTrace, PackedDataMustUnpackToWhatIsDeclared) {
  Section section;
  section.kind = Kind::kBatches;
  section.count = 1;
  section.raw = 2;
  section.rows = 1;
  const auto refused = [&](std::vector<std::byte> data) {
    return refusal(
        Forger().header(kBook).packed(section, data).section(Kind::kBatches, 1, 1, 0, ids({0})).end());
  };
  EXPECT_THAT(refused(trace_format::deflate_bytes("\1").value()), HasSubstr("unpacks"));
  EXPECT_THAT(refused(trace_format::deflate_bytes("\1\1\1").value()),
              HasSubstr("does not unpack to the declared"));
  EXPECT_THAT(refused(std::vector<std::byte>(20)), HasSubstr("is not zlib data"));
  std::vector<std::byte> trailing = trace_format::deflate_bytes(ids({1, 12})).value();
  trailing.push_back(std::byte{0});
  EXPECT_THAT(refused(trailing), HasSubstr("unpacks"));
}

TEST_F(ForgedTrace, SectionsMustBeComplete) {
  EXPECT_THAT(refusal(Forger().header(kBook).section(Kind::kBatches, 0, 1, 0, ids({0})).end()),
              HasSubstr("rank 1 has 0 of 1 batches"));
  EXPECT_THAT(refusal(Forger().header(kBook).section(Kind::kBatches, 7, 1, 0, ids({0})).end()),
              HasSubstr("the trace has 2 ranks"));
  EXPECT_THAT(refusal(Forger().section(Kind::kBatches, 0, 1, 0, ids({0})).end()),
              HasSubstr("the header must be the first section"));
  EXPECT_THAT(refusal(Forger().header(kBook).header(kBook).end()), HasSubstr("the header must be the first"));
  EXPECT_THAT(refusal(Forger().header(kBook).section(static_cast<Kind>(9), 0, 1, 0, ids({0})).end()),
              HasSubstr("unknown kind 9"));
  EXPECT_THAT(refusal(Forger()
                          .header(kBook)
                          .section(Kind::kDegrees, 0, 2, 0, ids({1, 2}))
                          .section(Kind::kBatches, 0, 1, 0, ids({0}))
                          .section(Kind::kBatches, 1, 1, 0, ids({0}))
                          .end()),
              HasSubstr("2 degrees (section rank 0) for 20 nodes"));
  EXPECT_THAT(refusal(Forger().header(kBook).end() + "x"), HasSubstr("33 bytes follow the last section"));
}

TEST_F(ForgedTrace, HeaderTextMustParse) {
  const auto with_header = [&](const std::string& json) { return refusal(Forger().header(json).end()); };
  EXPECT_THAT(with_header("nonsense"),
              HasSubstr("section 0 (header of rank 0) at byte 12: is not a JSON object"));
  EXPECT_THAT(with_header("{}"), HasSubstr("\"partition_digest\": a string is missing"));
  std::string json = kBook;
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = kBook;
    changed.replace(changed.find(from), from.size(), to);
    return with_header(changed);
  };
  EXPECT_THAT(replaced("\"nodes\":20", "\"nodes\":-1"),
              HasSubstr("\"nodes\": a non-negative integer is missing"));
  EXPECT_THAT(replaced("\"nodes\":20", "\"nodes\":21"), HasSubstr("part_offsets runs from 0 to 20"));
  EXPECT_THAT(replaced("\"epochs\":1", "\"epochs\":4294967296"),
              HasSubstr("\"epochs\": 4294967296 is too large"));
  EXPECT_THAT(replaced("\"epochs\":1", "\"epochs\":4294967295"),
              HasSubstr("rank 0 has 0 of 4294967295 batches"));
  EXPECT_THAT(replaced("[2]", "[2.5]"), HasSubstr("\"fanout\": not an integer"));
  EXPECT_THAT(replaced("[0,10,20]", "[0,-10,20]"), HasSubstr("part_offsets[1] = -10"));
  EXPECT_THAT(replaced("[0,10,20]", std::string(100'000, '[') + std::string(100'000, ']')),
              HasSubstr("not an integer"));
}

TEST_F(TraceFile, ForeignFilesAndVersionsAreNamed) {
  ASSERT_TRUE(write_text(file(), "PK\3\4 something else entirely").ok());
  EXPECT_THAT(read_trace(file()).error().message, HasSubstr("not a Rudder trace"));
  std::string whole = small_trace(file());
  whole[8] = 2;
  ASSERT_TRUE(write_text(file(), whole).ok());
  const auto newer = read_trace(file());
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, Errc::kUnsupported);
  EXPECT_THAT(newer.error().message, HasSubstr("trace version 2, this program reads 1"));
  EXPECT_EQ(read_trace(file("absent")).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace rudder::cache

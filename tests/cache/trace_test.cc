// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/trace.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/cache/trace_export.h"
#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/core/sha256.h"

#include "cache/trace_format.h"

namespace rudder::cache {
namespace {

using testing::HasSubstr;
using trace_format::Kind;
using trace_format::Section;

class TraceFile : public testing::Test {
 protected:
  TraceFile() : directory_(TemporaryDirectory::create("rudder-trace").value()) {}
  [[nodiscard]] std::filesystem::path file(const char* name = "t.trace") const {
    return directory_.path() / name;
  }

  TemporaryDirectory directory_;
};

struct Recorded {
  TraceHeader header;
  std::vector<std::vector<std::vector<NodeId>>> batches;  ///< by rank and step
};

std::vector<NodeId> random_remote_rows(CounterRng& rng, const TraceHeader& header, Rank rank,
                                       std::size_t count) {
  std::set<NodeId> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(header.nodes)));
    if (row < header.part_offsets[rank] || row >= header.part_offsets[rank + 1]) {
      rows.insert(row);
    }
  }
  return {rows.begin(), rows.end()};
}

Recorded random_trace(std::uint64_t seed) {
  CounterRng rng({seed, 1});
  Recorded out;
  TraceHeader& header = out.header;
  const std::size_t ranks = 1 + rng.below(5);
  header.partition_digest = fmt::format("digest-{}", seed);
  header.seed = rng();
  header.row_bytes = static_cast<std::uint32_t>(rng.below(1000));
  header.epochs = static_cast<std::uint32_t>(rng.below(4));
  header.steps_per_epoch = static_cast<std::uint32_t>(1 + rng.below(6));
  header.batch = static_cast<std::uint32_t>(rng());
  header.fanout = {10, -1, static_cast<int>(rng.below(100))};
  header.part_offsets = {0};
  for (std::size_t i = 0; i < ranks; ++i) {
    header.part_offsets.push_back(header.part_offsets.back() + static_cast<NodeId>(rng.below(500)));
  }
  header.part_offsets.back() += 1;
  header.nodes = header.part_offsets.back();
  const bool full = rng.below(4) != 0;
  if (full) {
    header.indptr = {0};
    for (NodeId i = 0; i < header.nodes; ++i) {
      header.indptr.push_back(header.indptr.back() + static_cast<EdgeIndex>(rng() >> (12 + rng.below(52))));
    }
  }
  for (Rank rank = 0; rank < ranks; ++rank) {
    header.halo.push_back(random_remote_rows(rng, header, rank, rng.below(400)));
    if (full) {
      header.vip.emplace_back();
      for (NodeId i = 0; i < header.nodes; ++i) {
        header.vip.back().push_back(static_cast<float>(rng.unit()));
      }
    }
    out.batches.emplace_back();
    for (StepId step = 0; step < header.steps(); ++step) {
      out.batches.back().push_back(random_remote_rows(rng, header, rank, rng.below(300)));
    }
  }
  return out;
}

Status write_trace(const std::filesystem::path& path, const Recorded& recorded) {
  RUDDER_ASSIGN(TraceWriter writer, TraceWriter::create(path, recorded.header));
  for (StepId step = 0; step < recorded.header.steps(); ++step) {
    for (Rank rank = 0; rank < recorded.header.ranks(); ++rank) {
      RUDDER_TRY(writer.append(rank, step, recorded.batches[rank][step]));
    }
  }
  return writer.commit();
}

void expect_equal(const Trace& trace, const Recorded& recorded) {
  const TraceHeader& a = trace.header;
  const TraceHeader& b = recorded.header;
  EXPECT_EQ(a.partition_digest, b.partition_digest);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.row_bytes, b.row_bytes);
  EXPECT_EQ(a.epochs, b.epochs);
  EXPECT_EQ(a.steps_per_epoch, b.steps_per_epoch);
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.fanout, b.fanout);
  EXPECT_EQ(a.part_offsets, b.part_offsets);
  EXPECT_EQ(a.indptr, b.indptr);
  EXPECT_EQ(a.halo, b.halo);
  EXPECT_EQ(a.vip, b.vip);
  ASSERT_EQ(trace.ranks.size(), recorded.batches.size());
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    ASSERT_EQ(trace.ranks[rank].offsets.size(), b.steps() + 1);
    for (StepId step = 0; step < b.steps(); ++step) {
      const auto batch = trace.ranks[rank].batch(step);
      EXPECT_EQ(std::vector<NodeId>(batch.begin(), batch.end()), recorded.batches[rank][step]);
    }
  }
}

TEST_F(TraceFile, RoundTripsRandomTraces) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Recorded recorded = random_trace(seed);
    const Status written = write_trace(file(), recorded);
    ASSERT_TRUE(written.ok()) << written.error().message;
    const auto trace = read_trace(file());
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    expect_equal(*trace, recorded);
  }
}

TEST_F(TraceFile, RoundTripsBatchesThatSpanManySections) {
  Recorded recorded;
  recorded.header.nodes = 3'000'000;
  recorded.header.part_offsets = {0, 10, 3'000'000};
  recorded.header.epochs = 2;
  recorded.header.steps_per_epoch = 3;
  recorded.header.halo = {{}, {}};
  recorded.batches.resize(2);
  CounterRng rng({7});
  for (StepId step = 0; step < 6; ++step) {
    std::vector<NodeId> rows;
    for (NodeId row = 10; row < 3'000'000; row += static_cast<NodeId>(1 + rng.below(5))) {
      rows.push_back(row);
    }
    recorded.batches[0].push_back(std::move(rows));
    recorded.batches[1].push_back({static_cast<NodeId>(step)});
  }
  recorded.header.halo[0].assign(recorded.batches[0][0].begin(), recorded.batches[0][0].end());
  recorded.header.indptr.resize(3'000'001);
  for (std::size_t i = 0; i < recorded.header.indptr.size(); ++i) {
    recorded.header.indptr[i] = static_cast<EdgeIndex>(i * 3);
  }
  ASSERT_TRUE(write_trace(file(), recorded).ok());
  const auto trace = read_trace(file());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  expect_equal(*trace, recorded);
}

TEST_F(TraceFile, TakesAboutAByteARequest) {
  Recorded recorded;
  recorded.header.nodes = 100'000;
  recorded.header.part_offsets = {0, 1, 100'000};
  recorded.header.epochs = 1;
  recorded.header.steps_per_epoch = 20;
  recorded.header.halo = {{}, {}};
  recorded.batches.resize(2);
  CounterRng rng({9});
  std::size_t requests = 0;
  for (StepId step = 0; step < 20; ++step) {
    recorded.batches[0].push_back(random_remote_rows(rng, recorded.header, 0, 10'000));
    recorded.batches[1].emplace_back();
    requests += recorded.batches[0].back().size();
  }
  ASSERT_TRUE(write_trace(file(), recorded).ok());
  const double bytes =
      static_cast<double>(std::filesystem::file_size(file())) / static_cast<double>(requests);
  RecordProperty("bytes_per_request", fmt::format("{:.3f}", bytes));
  EXPECT_LT(bytes, 1.0);  // the entropy of gaps with mean 10 is 4.7 bits
}

TEST_F(TraceFile, WriterRefusesWhatDoesNotBelong) {
  Recorded recorded;
  recorded.header.nodes = 20;
  recorded.header.part_offsets = {0, 10, 20};
  recorded.header.epochs = 1;
  recorded.header.steps_per_epoch = 2;
  recorded.header.halo = {{10, 11}, {0}};
  auto writer = TraceWriter::create(file(), recorded.header);
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const auto refusal = [&](Rank rank, StepId step, const std::vector<NodeId>& rows) {
    const Status status = writer->append(rank, step, rows);
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  EXPECT_THAT(refusal(2, 0, {}), HasSubstr("the trace has 2 ranks"));
  EXPECT_THAT(refusal(0, 1, {}), HasSubstr("batch 0 comes next"));
  EXPECT_THAT(refusal(0, 0, {12, 12}), HasSubstr("row 12 after 12: not ascending"));
  EXPECT_THAT(refusal(0, 0, {12, 11}), HasSubstr("not ascending"));
  EXPECT_THAT(refusal(0, 0, {20}), HasSubstr("row 20 is outside [0, 20)"));
  EXPECT_THAT(refusal(0, 0, {-1}), HasSubstr("row -1 is outside"));
  EXPECT_THAT(refusal(1, 0, {10}), HasSubstr("row 10 is the rank's own, in [10, 20)"));
  EXPECT_EQ(refusal(0, 0, {10, 19}), "accepted");
  EXPECT_EQ(refusal(0, 1, {}), "accepted");
  EXPECT_THAT(refusal(0, 2, {}), HasSubstr("the trace has 2 batches a rank"));
  EXPECT_EQ(refusal(1, 0, {}), "accepted");
  const Status early = writer->commit();
  ASSERT_FALSE(early.ok());
  EXPECT_THAT(early.error().message, HasSubstr("rank 1 has 1 of 2 batches"));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(TraceFile, WriterRefusesABrokenHeader) {
  const auto refusal = [&](auto change) {
    TraceHeader header;
    header.nodes = 20;
    header.part_offsets = {0, 10, 20};
    header.halo = {{10}, {0}};
    change(header);
    const auto writer = TraceWriter::create(file(), header);
    return writer.ok() ? std::string("accepted") : writer.error().message;
  };
  EXPECT_EQ(refusal([](TraceHeader&) {}), "accepted");
  EXPECT_THAT(refusal([](TraceHeader& h) { h.part_offsets = {0}; }), HasSubstr("part_offsets has 1 entries"));
  EXPECT_THAT(refusal([](TraceHeader& h) {
                h.part_offsets = {0, 30, 20};
              }),
              HasSubstr("part_offsets[2] = 20"));
  EXPECT_THAT(refusal([](TraceHeader& h) { h.nodes = 21; }), HasSubstr("not from 0 to 21"));
  EXPECT_THAT(refusal([](TraceHeader& h) { h.halo.pop_back(); }), HasSubstr("halo has 1 lists for 2 ranks"));
  EXPECT_THAT(refusal([](TraceHeader& h) { h.halo[1] = {10}; }), HasSubstr("halo of rank 1: row 10"));
  EXPECT_THAT(refusal([](TraceHeader& h) { h.indptr = {0, 1}; }), HasSubstr("indptr has 2 entries"));
  EXPECT_THAT(refusal([](TraceHeader& h) { h.vip.resize(1); }), HasSubstr("vip has 1 vectors"));
  EXPECT_THAT(refusal([](TraceHeader& h) {
                h.vip.assign(2, std::vector<float>(20, 0.5F));
                h.vip[1][3] = 1.5F;
              }),
              HasSubstr("vip of rank 1: 1.5 is no probability"));
}

/// Without the sync of write_text(): damaged files are written by the thousand.
void overwrite(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::remove(path);  // some file systems sync a file that was truncated and written again
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A small valid trace, kept small so that every byte can be tried.
std::string small_trace(const std::filesystem::path& path) {
  Recorded recorded;
  recorded.header.partition_digest = "d";
  recorded.header.nodes = 12;
  recorded.header.part_offsets = {0, 6, 12};
  recorded.header.epochs = 1;
  recorded.header.steps_per_epoch = 2;
  recorded.header.indptr = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  recorded.header.halo = {{6, 7}, {0, 1}};
  recorded.header.vip.assign(2, std::vector<float>(12, 0.25F));
  recorded.batches = {{{6, 8}, {}}, {{0, 5}, {3}}};
  EXPECT_TRUE(write_trace(path, recorded).ok());
  return read_text(path).value();
}

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

TEST_F(TraceFile, ExportsOracleGeneralByHand) {
  Recorded recorded;
  recorded.header.nodes = 20;
  recorded.header.row_bytes = 512;
  recorded.header.part_offsets = {0, 10, 20};
  recorded.header.epochs = 1;
  recorded.header.steps_per_epoch = 3;
  recorded.header.halo = {{}, {}};
  recorded.batches = {{{11, 15}, {15}, {11, 12}}, {{}, {}, {}}};
  ASSERT_TRUE(write_trace(file(), recorded).ok());
  const Trace trace = read_trace(file()).value();
  const auto out = file("o.bin");
  ASSERT_TRUE(export_oracle_general(trace, 0, out).ok());
  const std::string bytes = read_text(out).value();
  struct Record {
    std::uint32_t time;
    std::uint64_t id;
    std::uint32_t size;
    std::int64_t next;
    bool operator==(const Record&) const = default;
  };
  std::vector<Record> records(bytes.size() / 24);
  ASSERT_EQ(bytes.size(), 5U * 24);
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::memcpy(&records[i].time, bytes.data() + 24 * i, 4);
    std::memcpy(&records[i].id, bytes.data() + 24 * i + 4, 8);
    std::memcpy(&records[i].size, bytes.data() + 24 * i + 12, 4);
    std::memcpy(&records[i].next, bytes.data() + 24 * i + 16, 8);
  }
  const std::vector<Record> expected = {
      {0, 11, 512, 4}, {0, 15, 512, 3}, {1, 15, 512, -1}, {2, 11, 512, -1}, {2, 12, 512, -1}};
  EXPECT_EQ(records, expected);
  EXPECT_THAT(export_oracle_general(trace, 2, out).error().message, HasSubstr("no rank 2"));
}

TEST_F(TraceFile, ExportsCsv) {
  Recorded recorded;
  recorded.header.nodes = 20;
  recorded.header.part_offsets = {0, 10, 20};
  recorded.header.epochs = 1;
  recorded.header.steps_per_epoch = 2;
  recorded.header.halo = {{}, {}};
  recorded.batches = {{{11, 15}, {}}, {{}, {3}}};
  ASSERT_TRUE(write_trace(file(), recorded).ok());
  ASSERT_TRUE(export_csv(read_trace(file()).value(), file("o.csv")).ok());
  EXPECT_EQ(read_text(file("o.csv")).value(), "rank,step,row\n0,0,11\n0,0,15\n1,1,3\n");
}

}  // namespace
}  // namespace rudder::cache

// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/trace.h"

#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/cache/trace_export.h"
#include "rudder/core/files.h"
#include "rudder/core/rng.h"

#include "support/trace_files.h"

namespace rudder::cache {
namespace {

using namespace testing_support;
using testing::HasSubstr;

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

// SPDX-License-Identifier: Apache-2.0
// The grammar of comments, and notes that survive being written and read.
#include "rudder/sched/slurm_notes.h"

#include <cstdlib>
#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::sched {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JobRequest, AllWords) {
  const auto request = parse_request(
      "rudder: shape=4x2 alpha=0.3 order=row-major  planned=1796001309 estimate=90m preemptible priority=-7 "
      "checkpoint=1h restart=30 min-runtime=2d");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->grid.rows, 4);
  EXPECT_EQ(request->grid.columns, 2);
  EXPECT_EQ(request->alpha, 0.3);
  EXPECT_EQ(request->order, place::RankOrder::kRowMajor);
  EXPECT_EQ(request->planned, 1796001309);
  EXPECT_EQ(request->estimate, 5400);
  EXPECT_TRUE(request->preemptible);
  EXPECT_EQ(request->priority, -7);
  EXPECT_EQ(request->checkpoint, 3600);
  EXPECT_EQ(request->restart, 30);
  EXPECT_EQ(request->min_runtime, 172'800);
}

TEST(JobRequest, LocalTimes) {
  const auto request = parse_request("rudder: planned=2026-11-30T04:05:06");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const auto seconds = static_cast<std::time_t>(request->planned);
  std::tm parts{};
  ASSERT_NE(::localtime_r(&seconds, &parts), nullptr);
  EXPECT_EQ(parts.tm_mday, 30);
  EXPECT_EQ(parts.tm_hour, 4);
  EXPECT_EQ(parts.tm_sec, 6);
}

TEST(JobRequest, OnlyMarkedCommentsAreThePlanners) {
  EXPECT_TRUE(is_marked("rudder:"));
  EXPECT_TRUE(is_marked("rudder: shape=2x2"));
  EXPECT_FALSE(is_marked("my rudder: shape=2x2"));
  EXPECT_FALSE(is_marked(""));
}

TEST(JobRequest, WrongOnesSayWhichWord) {
  for (const auto& [comment, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"rudder: shap=2x2", "did you mean 'shape'?"},
           {"rudder: shape=2", "'shape=2' is not rows x columns"},
           {"rudder: shape=0x2", "rows x columns"},
           {"rudder: shape=99999999999x2", "rows x columns"},
           {"rudder: alpha=1.5", "a number from 0 to 1"},
           {"rudder: alpha=nan", "a number from 0 to 1"},
           {"rudder: order=sideways", "column-major or row-major"},
           {"rudder: planned=tomorrow", "a time"},
           {"rudder: planned=2026-11-30T04:00:00Z", "a time"},
           {"rudder: estimate=-5", "a duration"},
           {"rudder: estimate=99999999999d", "a duration"},
           {"rudder: preemptible=yes", "write 'preemptible' alone"},
           {"rudder: priority=1000000", "a number from"},
           {"rudder: priority=1 priority=2", "'priority' occurs twice"}}) {
    const auto request = parse_request(comment);
    ASSERT_FALSE(request.ok()) << comment;
    EXPECT_THAT(request.error().message, HasSubstr(expected));
  }
}

TEST(SlurmNote, RoundTrips) {
  const SlurmNote zone{.kind = NoteKind::kZone,
                       .has_zone = true,
                       .zone = ZoneKind::kClaim,
                       .arrival = 100,
                       .end = kNever,
                       .expires = 700,
                       .objective = 1.5,
                       .bound = 1.25,
                       .digest = "0123456789abcdef",
                       .victims = {4, 17},
                       .why = {}};
  const SlurmNote back = parse_note(to_text(zone));
  EXPECT_EQ(back.kind, NoteKind::kZone);
  EXPECT_EQ(back.zone, ZoneKind::kClaim);
  EXPECT_EQ(back.arrival, 100);
  EXPECT_EQ(back.end, kNever);
  EXPECT_EQ(back.expires, 700);
  EXPECT_EQ(back.objective, 1.5);
  EXPECT_EQ(back.bound, 1.25);
  EXPECT_EQ(back.digest, zone.digest);
  EXPECT_THAT(back.victims, ElementsAre(4, 17));
  const SlurmNote leaving{
      .kind = NoteKind::kLeaving, .digest = {}, .victims = {}, .since = 9, .in_favour = 3, .why = {}};
  EXPECT_EQ(parse_note(to_text(leaving)).since, 9);
  EXPECT_EQ(parse_note(to_text(leaving)).in_favour, 3);
}

TEST(SlurmNote, StaysWithinSlurmsCommentWithManyVictims) {
  SlurmNote note{
      .kind = NoteKind::kZone, .has_zone = true, .digest = std::string(16, 'f'), .victims = {}, .why = {}};
  for (JobId id = 0; id < 10'000; ++id) {
    note.victims.push_back(100'000'000 + id);
  }
  EXPECT_LT(to_text(note).size(), 1000U);
  EXPECT_EQ(parse_note(to_text(note)).kind, NoteKind::kZone);
}

TEST(SlurmNote, WhatIsNoNoteIsNoPlan) {
  for (const char* text :
       {"", "rudder:", "rudder: zone", "rudder: zone J=1 bound=1 hosts=x", "rudder: zone J=x",
        "rudder: placed J=1", "rudder: leaving since=-1 for=2", "rudder: leaving since=a for=2",
        "rudder: placed J=1 bound=1 hosts=ab victims=1,x", "zone J=1 bound=1 hosts=x",
        "rudder: zone J=1 bound=1 hosts=a zone=planned arrival=99999999999999999999 end=1 expires=1"}) {
    EXPECT_EQ(parse_note(text).kind, NoteKind::kNone) << text;
  }
}

TEST(SlurmNote, DigestDependsOnNamesAndTheirOrder) {
  EXPECT_EQ(digest_of({"a", "b"}).size(), 16U);
  EXPECT_NE(digest_of({"a", "b"}), digest_of({"b", "a"}));
  EXPECT_NE(digest_of({"ab"}), digest_of({"a", "b"}));
}

}  // namespace
}  // namespace rudder::sched

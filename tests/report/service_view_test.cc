// SPDX-License-Identifier: Apache-2.0
#include "rudder/report/service_view.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/metrics/registry.h"

namespace rudder::report {
namespace {

using metrics::Labels;
using metrics::Page;
using testing::HasSubstr;

/// The figures of a service with trainers 2 and 10 and peers 1 and 3, as a registry shows them.
class Service {
 public:
  Service() {
    registry_.gauge("rudder_buffer_slots", "", host_).set(500);
    registry_.gauge("rudder_pull_credits", "", host_).set(4);
    for (const char* peer : {"3", "1"}) {
      count("rudder_peer_rows_total", 0, {{"rank", "7"}, {"peer", peer}});
    }
    for (const char* trainer : {"10", "2"}) {
      gauge("rudder_trainer_attached", 0, {{"rank", "7"}, {"trainer", trainer}});
    }
    count("rudder_served_runs_total", 0);
  }

  void count(const std::string& name, std::uint64_t more) { count(name, more, host_); }
  void count(const std::string& name, std::uint64_t more, const Labels& labels) {
    registry_.counter(name, "", labels).add(more);
  }
  void gauge(const std::string& name, double value) { gauge(name, value, host_); }
  void gauge(const std::string& name, double value, const Labels& labels) {
    registry_.gauge(name, "", labels).set(value);
  }
  void answer(double seconds, int times) {
    auto& histogram = registry_.histogram("rudder_pull_seconds", "", metrics::latency_bounds(),
                                          {{"rank", "7"}, {"peer", "3"}});
    for (int i = 0; i < times; ++i) {
      histogram.observe(seconds);
    }
  }
  void wait(double seconds) {
    registry_.seconds("rudder_trainer_wait_seconds_total", "", trainer_).add(seconds);
  }
  [[nodiscard]] Page page() const { return Page::parse(registry_.text()).value(); }

  const Labels rows_ = {{"rank", "7"}, {"policy", "lru"}};
  const Labels trainer_ = {{"rank", "7"}, {"trainer", "10"}};
  const Labels peer_ = {{"rank", "7"}, {"peer", "3"}};

 private:
  const Labels host_ = {{"rank", "7"}};
  metrics::Registry registry_;
};

/// Two seconds of a run, worked out by hand below.
ServiceView two_seconds() {
  Service service;
  service.count("rudder_served_rows_requested_total", 1000, service.rows_);
  service.count("rudder_served_rows_hit_total", 100, service.rows_);
  service.count("rudder_trainer_batches_total", 4, service.trainer_);
  service.wait(10);
  service.answer(3, 50);
  const Page before = service.page();
  service.count("rudder_served_rows_requested_total", 400, service.rows_);
  service.count("rudder_served_rows_hit_total", 300, service.rows_);
  service.count("rudder_served_rows_fetched_total", 100, service.rows_);
  service.count("rudder_served_payload_bytes_total", 4096);
  service.count("rudder_served_wire_bytes_total", 6144);
  service.count("rudder_served_messages_total", 12);
  service.count("rudder_served_runs_total", 2);
  service.count("rudder_trainer_batches_total", 5, service.trainer_);
  service.count("rudder_trainer_rows_total", 90, service.trainer_);
  service.gauge("rudder_trainer_attached", 1, service.trainer_);
  service.gauge("rudder_trainer_waiting", 1, service.trainer_);
  service.gauge("rudder_trainer_batches_ahead", -1, service.trainer_);
  service.wait(0.5);
  service.count("rudder_peer_rows_total", 60, service.peer_);
  service.count("rudder_peer_payload_bytes_total", 2048, service.peer_);
  service.gauge("rudder_pull_credits_in_use", 3, service.peer_);
  service.gauge("rudder_pulls_waiting", 8, service.peer_);
  service.gauge("rudder_buffer_slots_occupied", 123);
  service.gauge("rudder_plans_in_flight", 5);
  service.answer(0.0015, 6);  // in the bucket from 1 to 2 ms
  service.answer(0.15, 4);    // in the bucket from 0.1 to 0.2 s
  const Page now = service.page();
  return view_service({from_seconds(100), before}, {from_seconds(102), now});
}

TEST(ServiceView, HasTotalsOfNowAndRatesOfTheTimeBetween) {
  const ServiceView view = two_seconds();
  EXPECT_EQ(view.seconds, 2);
  EXPECT_EQ(view.host, 7);
  EXPECT_EQ(view.policy, "lru");
  EXPECT_EQ(view.runs, 2);
  EXPECT_EQ(view.requested.total, 1400);
  EXPECT_EQ(view.requested.per_second, 200);
  EXPECT_EQ(view.hit.per_second, 150);
  EXPECT_EQ(view.hit_share(), 0.75);
  EXPECT_EQ(view.fetched.per_second, 50);
  EXPECT_EQ(view.bypassed.total, 0);
  EXPECT_EQ(view.payload_bytes.per_second, 2048);
  EXPECT_EQ(view.wire_bytes.per_second, 3072);
  EXPECT_EQ(view.messages.per_second, 6);
  EXPECT_EQ(view.slots, 500);
  EXPECT_EQ(view.occupied, 123);
  EXPECT_EQ(view.plans_in_flight, 5);
  EXPECT_EQ(view.credits, 4);
}

TEST(ServiceView, HasTrainersAndPeersInTheOrderOfTheirRanks) {
  const ServiceView view = two_seconds();
  ASSERT_EQ(view.trainers.size(), 2U);
  EXPECT_EQ(view.trainers[0].trainer, 2);
  EXPECT_FALSE(view.trainers[0].attached);
  const TrainerView& trainer = view.trainers[1];
  EXPECT_EQ(trainer.trainer, 10);
  EXPECT_TRUE(trainer.attached && trainer.waiting);
  EXPECT_EQ(trainer.batches.total, 9);
  EXPECT_EQ(trainer.batches.per_second, 2.5);
  EXPECT_EQ(trainer.rows.per_second, 45);
  EXPECT_EQ(trainer.wait_share, 0.25);
  EXPECT_EQ(trainer.ahead, -1);
  ASSERT_EQ(view.peers.size(), 2U);
  EXPECT_EQ(view.peers[0].peer, 1);
  EXPECT_EQ(view.peers[0].latency_p50, std::nullopt);
  const PeerView& peer = view.peers[1];
  EXPECT_EQ(peer.peer, 3);
  EXPECT_EQ(peer.requests.per_second, 5);
  EXPECT_EQ(peer.rows.per_second, 30);
  EXPECT_EQ(peer.payload_bytes.per_second, 1024);
  EXPECT_EQ(peer.in_flight, 3);
  EXPECT_EQ(peer.queued, 8);
}

TEST(ServiceView, QuantilesAreOfTheTimeBetweenAndInterpolated) {
  const PeerView peer = two_seconds().peers[1];
  // The fifth of ten values, of six in [1, 2] ms; the 9.5th, which is the 3.5th of four in [0.1, 0.2] s. The
  // fifty of 3 s came before.
  ASSERT_TRUE(peer.latency_p50.has_value() && peer.latency_p95.has_value());
  EXPECT_NEAR(*peer.latency_p50, 0.001 + 0.001 * 5 / 6, 1e-12);
  EXPECT_NEAR(*peer.latency_p95, 0.1 + 0.1 * 3.5 / 4, 1e-12);
}

TEST(ServiceView, WhatLiesAboveAllBoundsCountsAsTheLast) {
  Service service;
  const Page before = service.page();
  service.answer(1000, 3);
  const Page now = service.page();
  EXPECT_EQ(view_service({Duration(0), before}, {Duration(1), now}).peers[1].latency_p50, 10);
}

TEST(ServiceView, WithoutRequestsTheHitsAreThoseOfTheWholeRun) {
  Service service;
  const Page idle = service.page();
  EXPECT_EQ(view_service({Duration(0), idle}, {Duration(1), idle}).hit_share(), std::nullopt);
  service.count("rudder_served_rows_requested_total", 10, service.rows_);
  service.count("rudder_served_rows_hit_total", 4, service.rows_);
  const Page done = service.page();
  EXPECT_EQ(view_service({Duration(0), done}, {Duration(1), done}).hit_share(), 0.4);
}

TEST(ServiceView, TakesPagesOfAnybody) {
  const Page nothing;
  const ServiceView none = view_service({Duration(0), nothing}, {Duration(1), nothing});
  EXPECT_EQ(none.host, std::nullopt);
  EXPECT_THAT(service_line(none), HasSubstr("a host: 0 rows/s, - hit"));
  const Page before =
      Page::parse("rudder_served_rows_requested_total{policy=\"\x1b[2J\xff\\n\"} 9\n").value();
  const Page now = Page::parse(
                       "rudder_served_rows_requested_total{policy=\"\x1b[2J\xff\\n\"} NaN\n"
                       "rudder_served_rows_hit_total +Inf\n"
                       "rudder_peer_rows_total{peer=\"-9223372036854775808\"} -1e308\n"
                       "rudder_peer_rows_total{peer=\"x\"} 1\nrudder_trainer_attached 1\n"
                       "rudder_pull_seconds_bucket{peer=\"-9223372036854775808\",le=\"NaN\"} 3\n")
                       .value();
  const ServiceView view = view_service({Duration(0), before}, {Duration(1), now});
  EXPECT_EQ(view.requested.per_second, 0) << "what fell stands still";
  EXPECT_EQ(view.peers.size(), 1U);
  EXPECT_EQ(view.trainers.size(), 0U);
  for (const std::string& text : {service_line(view), service_screen(view, 80, 24)}) {
    EXPECT_THAT(text, HasSubstr("policy ?[2J??"));
    EXPECT_EQ(text.find('\x1b'), text.npos);
  }
}

TEST(ServiceScreen, ShowsAllOfIt) {
  EXPECT_EQ(service_screen(two_seconds(), 120, 30),
            "host 7, policy lru, 2 runs served; over 2.0 s:\n"
            "\n"
            "rows     200/s requested, 75.0 % hit, 50/s fetched, 0/s bypassed\n"
            "network  2.0 KiB/s of rows, 3.0 KiB/s on the wire, 6 messages/s\n"
            "buffer   123 of 500 rows, 5 plans in flight\n"
            "\n"
            "trainer   state  batches/s  rows/s  waiting  ahead  batches  rows\n"
            "2        absent       0.00       0    0.0 %      0        0     0\n"
            "10        waits       2.50      45   25.0 %     -1        9    90\n"
            "\n"
            "peer  requests/s  rows/s    bytes/s  p50 ms  p95 ms  in flight  queued  rows\n"
            "1            0.0       0      0 B/s       -       -     0 of 4       0     0\n"
            "3            5.0      30  1.0 KiB/s    1.83  187.50     3 of 4       8    60\n");
}

TEST(ServiceScreen, IsCutToTheTerminal) {
  const std::string whole = service_screen(two_seconds(), 200, 100);
  for (const std::size_t columns : {0U, 1U, 20U, 70U}) {
    for (const std::size_t lines : {0U, 1U, 5U, 12U}) {
      std::string expected;
      std::size_t begin = 0;
      for (std::size_t line = 0; line < lines; ++line) {
        const std::size_t end = whole.find('\n', begin);
        expected += whole.substr(begin, std::min(end - begin, columns)) + "\n";
        begin = end + 1;
      }
      EXPECT_EQ(service_screen(two_seconds(), columns, lines), expected);
    }
  }
}

TEST(ServiceLine, HasTheSameInOneLine) {
  EXPECT_EQ(
      service_line(two_seconds()),
      "host 7, policy lru: 200 rows/s, 75.0 % hit, 50 fetched/s, 2.0 KiB/s; buffer 123 of 500, 5 plans in "
      "flight, 8 requests queued; 1 of 2 trainers attached, 1 waiting");
}

}  // namespace
}  // namespace rudder::report

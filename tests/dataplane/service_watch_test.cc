// SPDX-License-Identifier: Apache-2.0
// Watching a service at its socket.
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/dataplane/watch.h"

#include "dataplane/local_socket.h"
#include "dataplane/reception.h"
#include "dataplane/service_fixture.h"
#include "dataplane/service_wire.h"

namespace rudder::dataplane {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ServiceWatchTest : public testing_support::ServiceFixture {
 protected:
  /// A service that serves a run in the background.
  void serve(Rank host = 0) {
    service_ = open(host, lookahead(60));
    run_ = std::async(std::launch::async, [this] { return service_->serve_run(); });
  }
  void stop() {
    service_->stop();
    EXPECT_EQ(run_.get().error().code, Errc::kCancelled);
    service_.reset();
  }
  [[nodiscard]] Result<ServiceSnapshot> look(ServiceWatch& watch) {
    watch.ask();
    return watch.answer(Deadline::in(from_seconds(10)));
  }
  /// The answer of the next look, which must be one.
  [[nodiscard]] ServiceSnapshot must_look(ServiceWatch& watch) {
    auto seen = look(watch);
    EXPECT_TRUE(seen.ok()) << seen.error().message;
    return std::move(seen).value();
  }
  void run_trainers() {
    std::vector<std::thread> trainers;
    for (Rank rank = 0; rank < 2; ++rank) {
      trainers.emplace_back([this, rank] {
        auto supply = attach_rank(rank);
        ASSERT_TRUE(supply.ok()) << supply.error().message;
        hosts_.run_rank(rank, std::move(supply).value());
      });
    }
    for (std::thread& trainer : trainers) {
      trainer.join();
    }
  }
  [[nodiscard]] LocalSocket connect() const {
    return LocalSocket::connect(socket(0), Deadline::in(from_seconds(10))).value();
  }

  std::unique_ptr<HostService> service_;
  std::future<Result<ServedRun>> run_;
};

TEST_F(ServiceWatchTest, ShowsWhatTheServiceCounts) {
  serve();
  auto watch = ServiceWatch::open(socket(0));
  ASSERT_TRUE(watch.ok()) << watch.error().message;
  const ServiceSnapshot before = must_look(*watch);
  EXPECT_EQ(before.page.sum("rudder_served_runs_total"), 0);
  EXPECT_EQ(before.page.sum("rudder_trainer_attached"), 0);
  EXPECT_EQ(before.page.of("rudder_trainer_attached").size(), 2U);
  run_trainers();
  const auto served = run_.get();
  ASSERT_TRUE(served.ok()) << served.error().message;
  const ServiceSnapshot after = must_look(*watch);
  EXPECT_GT(after.at, before.at);
  EXPECT_EQ(after.page.sum("rudder_served_runs_total"), 1);
  const auto total = [&](const char* name) {
    return static_cast<std::uint64_t>(after.page.sum(std::string("rudder_served_") + name + "_total"));
  };
  EXPECT_EQ(total("rows_requested"), served->counts.requests);
  EXPECT_EQ(total("rows_hit"), served->counts.hits);
  EXPECT_EQ(total("rows_fetched"), served->counts.fetched);
  EXPECT_EQ(total("rows_bypassed"), served->counts.bypassed);
  EXPECT_EQ(total("payload_bytes"), served->transfer.payload_bytes);
  EXPECT_EQ(total("wire_bytes"), served->transfer.wire_bytes);
  EXPECT_EQ(total("messages"), served->transfer.messages);
  EXPECT_EQ(after.page.sum("rudder_peer_rows_total", {{"rank", "0"}}),
            static_cast<double>(served->counts.fetched));
  for (const char* trainer : {"0", "1"}) {
    EXPECT_EQ(after.page.sum("rudder_trainer_batches_total", {{"trainer", trainer}}),
              static_cast<double>(served->steps));
  }
}

TEST_F(ServiceWatchTest, AWaitIsSeenWhileItLasts) {
  serve();
  auto other = std::async(std::launch::async, [&] { return attach_rank(1); });
  auto supply = attach_rank(0);
  ASSERT_TRUE(supply.ok());
  auto second = other.get();
  ASSERT_TRUE(second.ok());
  supply.value()->ask();  // and offers nothing, so that nothing comes
  auto watch = ServiceWatch::open(socket(0));
  ASSERT_TRUE(watch.ok());
  const metrics::Labels first = {{"trainer", "0"}};
  while (must_look(*watch).page.sum("rudder_trainer_waiting", first) == 0) {
  }
  const ServiceSnapshot before = must_look(*watch);
  const ServiceSnapshot after = must_look(*watch);
  const auto waited = [&](const ServiceSnapshot& snapshot) {
    return snapshot.page.sum("rudder_trainer_wait_seconds_total", first);
  };
  EXPECT_GT(waited(after), waited(before));
  EXPECT_EQ(after.page.sum("rudder_trainer_wait_seconds_total", {{"trainer", "1"}}), 0);
  EXPECT_EQ(after.page.sum("rudder_trainer_attached"), 2);
  supply.value().reset();
  second.value().reset();
  EXPECT_TRUE(run_.get().ok());
  const ServiceSnapshot done = must_look(*watch);
  EXPECT_EQ(done.page.sum("rudder_trainer_waiting"), 0);
  EXPECT_EQ(waited(must_look(*watch)), waited(done));
}

TEST_F(ServiceWatchTest, SilentStrangersHoldNobodyUp) {
  serve();
  std::vector<LocalSocket> strangers;
  const auto half = encode_frame(static_cast<std::uint32_t>(ServiceFrame::kWatch), {});
  for (std::size_t i = 0; i < 2 * Reception::kMostSilent; ++i) {
    strangers.push_back(connect());
    if (i % 2 == 0) {
      ASSERT_EQ(strangers.back().send_some(std::span(half).first(8)).value(), 8U);
    }
  }
  // One after another they would take longer than trainers and watchers wait.
  ASSERT_GT(Reception::kPatience * Reception::kMostSilent, from_seconds(60));
  auto watch = ServiceWatch::open(socket(0));
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(must_look(*watch).page.sum("rudder_trainer_attached"), 0);
  run_trainers();
  EXPECT_TRUE(run_.get().ok());
}

TEST_F(ServiceWatchTest, WatchersThatReadNothingAreLetGo) {
  serve();
  const auto question = encode_frame(static_cast<std::uint32_t>(ServiceFrame::kWatch), {});
  std::vector<LocalSocket> deaf;
  for (int i = 0; i < 3; ++i) {
    deaf.push_back(connect());
    ASSERT_TRUE(deaf.back().send_some(question).ok());
  }
  run_trainers();
  EXPECT_TRUE(run_.get().ok());
  // They ask until they are closed: their answers fill the sockets, and then patience ends.
  const Deadline deadline = Deadline::in(from_seconds(60));
  while (!deaf.empty()) {
    ASSERT_FALSE(deadline.passed());
    std::erase_if(deaf, [&](LocalSocket& one) { return !one.send_some(question).ok(); });
    std::this_thread::yield();
  }
  auto watch = ServiceWatch::open(socket(0));
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(must_look(*watch).page.sum("rudder_served_runs_total"), 1);
}

TEST_F(ServiceWatchTest, ThereAreNoMoreWatchersThanMayBe) {
  serve();
  std::vector<ServiceWatch> watches;
  for (std::size_t i = 0; i < Reception::kMostWatchers; ++i) {
    watches.push_back(ServiceWatch::open(socket(0)).value());
    static_cast<void>(must_look(watches.back()));
  }
  auto one_more = ServiceWatch::open(socket(0));
  ASSERT_TRUE(one_more.ok());
  const auto refused = look(*one_more);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr(socket(0).string()), HasSubstr("16 watch it already")));
  watches.pop_back();
  // Its place is free once the service has noticed.
  for (;;) {
    auto again = ServiceWatch::open(socket(0));
    if (again.ok() && look(*again).ok()) {
      break;
    }
  }
  stop();
}

TEST_F(ServiceWatchTest, AWatcherCanDoNothingElse) {
  serve();
  const auto answer_to_second = [&](ServiceFrame frame) {
    LocalSocket stranger = connect();
    EXPECT_TRUE(stranger.send(static_cast<std::uint32_t>(ServiceFrame::kWatch), {}).ok());
    const auto figures = stranger.receive(kMaxFiguresBytes, Deadline::in(from_seconds(10)));
    EXPECT_TRUE(figures.ok()) << figures.error().message;
    static_cast<void>(stranger.send(static_cast<std::uint32_t>(frame), encode_attach({})));
    return stranger.receive(kMaxFiguresBytes, Deadline::in(from_seconds(10))).error().code;
  };
  for (const ServiceFrame frame : {ServiceFrame::kAttach, ServiceFrame::kAsk, ServiceFrame::kFigures}) {
    EXPECT_EQ(answer_to_second(frame), Errc::kPeer) << "it is let go";
  }
  stop();
}

TEST_F(ServiceWatchTest, SaysWhatIsWrong) {
  const auto at = [&](const std::filesystem::path& path) { return ServiceWatch::open(path).error(); };
  EXPECT_EQ(at(socket(0)).code, Errc::kNotFound);
  EXPECT_THAT(at(socket(0)).message, AllOf(HasSubstr("no service at"), HasSubstr(socket(0).string())));
  std::ofstream(socket(1)) << "a file";
  EXPECT_THAT(at(socket(1)).message, HasSubstr("is no socket"));
  serve();
  auto watch = ServiceWatch::open(socket(0));
  ASSERT_TRUE(watch.ok());
  static_cast<void>(must_look(*watch));
  stop();
  EXPECT_EQ(look(*watch).error().message, "the service at " + socket(0).string() + " has ended");
}

TEST_F(ServiceWatchTest, WhatIsNoServiceIsToldApart) {
  auto listener = LocalListener::open(socket(0));
  ASSERT_TRUE(listener.ok());
  const auto answered = [&](const std::function<void(LocalSocket&)>& answer) {
    auto stranger = std::async(std::launch::async, [&] {
      auto client = listener->accept();
      answer(client.value());
    });
    auto watch = ServiceWatch::open(socket(0));
    EXPECT_TRUE(watch.ok());
    const auto seen = look(*watch);
    stranger.get();
    return seen.ok() ? std::string("taken") : seen.error().message;
  };
  const auto with = [](std::uint32_t type, std::vector<std::byte> body) {
    return
        [type, body = std::move(body)](LocalSocket& client) { static_cast<void>(client.send(type, body)); };
  };
  const auto figures = static_cast<std::uint32_t>(ServiceFrame::kFigures);
  const auto nonsense = HasSubstr("what listens at " + socket(0).string() + " is no rudder serve");
  EXPECT_THAT(answered([](LocalSocket& client) { client.shut_down(); }), HasSubstr("hangs up"));
  EXPECT_THAT(answered(with(99, {})), AllOf(nonsense, HasSubstr("a frame of type 99")));
  EXPECT_THAT(answered(with(figures, {})), AllOf(nonsense, HasSubstr("malformed figures frame")));
  EXPECT_THAT(answered(with(figures, std::vector<std::byte>(8, std::byte{0xff}))),
              AllOf(nonsense, HasSubstr("malformed figures frame: time")));
  EXPECT_THAT(answered(with(figures, encode_figures({Duration(1), "x"}))),
              AllOf(nonsense, HasSubstr("line 1 of figures is cut short")));
  EXPECT_THAT(answered(with(static_cast<std::uint32_t>(ServiceFrame::kFailed),
                            encode_failure(Error{Errc::kResource, "no\x1b time"}))),
              AllOf(HasSubstr("service at "), HasSubstr("no\\x1b time")));
  EXPECT_EQ(answered(with(figures, encode_figures({Duration(1), "a 1\n"}))), "taken");
}

}  // namespace
}  // namespace rudder::dataplane

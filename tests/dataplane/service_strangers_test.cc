// SPDX-License-Identifier: Apache-2.0
// Whoever may connect to a service's socket and does not keep to the protocol.
#include <functional>
#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/dataplane/host_service.h"

#include "dataplane/local_socket.h"
#include "dataplane/service_fixture.h"
#include "dataplane/service_wire.h"

namespace rudder::dataplane {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class ServiceStrangers : public testing_support::ServiceFixture {};

TEST_F(ServiceStrangers, HostileTrainersHarmOnlyThemselves) {
  const auto send = [](LocalSocket& to, ServiceFrame frame, std::vector<std::byte> body) {
    static_cast<void>(to.send(static_cast<std::uint32_t>(frame), body));
  };
  const std::vector<std::byte> junk(20, std::byte{0xff});
  std::vector<std::byte> own_row;
  encode_offer(std::vector<NodeId>{0}, own_row);
  const std::vector<std::function<void(LocalSocket&, LocalSocket&)>> attacks = {
      [&](LocalSocket& control, LocalSocket&) { send(control, ServiceFrame::kRelease, {}); },
      [&](LocalSocket& control, LocalSocket&) { send(control, ServiceFrame::kAsk, junk); },
      [&](LocalSocket& control, LocalSocket&) { send(control, ServiceFrame::kRows, {}); },
      [&](LocalSocket& control, LocalSocket&) {
        for (int i = 0; i < 1000; ++i) {
          send(control, ServiceFrame::kAsk, {});
        }
      },
      [&](LocalSocket&, LocalSocket& rows) { send(rows, ServiceFrame::kOffer, junk); },
      [&](LocalSocket&, LocalSocket& rows) { send(rows, ServiceFrame::kOffer, {}); },
      [&](LocalSocket&, LocalSocket& rows) { send(rows, ServiceFrame::kOffer, own_row); },
      [&](LocalSocket&, LocalSocket& rows) { send(rows, ServiceFrame::kAttach, {}); },
      [&](LocalSocket&, LocalSocket& rows) { rows.shut_down(); },
  };
  auto service = open(0, lookahead(60));
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    SCOPED_TRACE(i);
    auto run = std::async(std::launch::async, [&] { return service->serve_run(); });
    auto control = LocalSocket::connect(socket(0), Deadline::in(from_seconds(10)));
    ASSERT_TRUE(control.ok());
    auto rows = LocalSocket::pair();
    ASSERT_TRUE(rows.ok());
    const auto& graph = hosts_.graph().graph();
    ASSERT_TRUE(control.value()
                    .send(static_cast<std::uint32_t>(ServiceFrame::kAttach),
                          encode_attach({.rank = 1,
                                         .graph_digest = graph.graph_digest(),
                                         .partition_digest = graph.digest(),
                                         .run = hosts_.run_shape()}),
                          rows.value().second.get())
                    .ok());
    auto supply = attach_rank(0);
    ASSERT_TRUE(supply.ok()) << supply.error().message;
    attacks[i](control.value(), rows.value().first);
    hosts_.run_rank(0, std::move(supply).value());
    EXPECT_TRUE(run.get().ok());
    // Welcome, perhaps memory and rows, and then why it was let go.
    std::string reason;
    while (reason.empty()) {
      const auto frame = control.value().receive(1 << 20, Deadline::in(from_seconds(10)));
      ASSERT_TRUE(frame.ok()) << frame.error().message;
      if (frame.value().type == static_cast<std::uint32_t>(ServiceFrame::kFailed)) {
        reason = decode_failure(frame.value().body).message;
      }
    }
    EXPECT_THAT(reason, AnyOf(HasSubstr("out of turn"), HasSubstr("a frame of type"),
                              HasSubstr("malformed offer"), HasSubstr("closed the connection")));
  }
}

TEST_F(ServiceStrangers, WhoSaysNonsenseInsteadOfApplyingIsNotTakenIn) {
  auto service = open(0, lookahead(5));
  auto run = std::async(std::launch::async, [&] { return service->serve_run(); });
  const std::string version_9 = R"({"version": 9})";
  const auto bytes = std::as_bytes(std::span(version_9));
  for (const std::size_t kind : {0U, 1U, 2U, 3U}) {
    auto control = LocalSocket::connect(socket(0), Deadline::in(from_seconds(10)));
    ASSERT_TRUE(control.ok());
    if (kind == 0) {
      continue;  // says nothing and goes
    }
    auto rows = LocalSocket::pair();
    static_cast<void>(control.value().send(
        kind == 1 ? 77U : 1U, kind == 3 ? std::span(bytes) : std::span<const std::byte>(bytes).first(3),
        rows.value().second.get()));
    const auto answer = control.value().receive(kMaxControlBytes, Deadline::in(from_seconds(10)));
    if (kind == 3) {
      ASSERT_TRUE(answer.ok());
      EXPECT_THAT(decode_failure(answer.value().body).message, HasSubstr("version 9"));
    }
  }
  service->stop();
  EXPECT_EQ(run.get().error().code, Errc::kCancelled);
}

}  // namespace
}  // namespace rudder::dataplane

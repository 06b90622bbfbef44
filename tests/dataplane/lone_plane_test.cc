// SPDX-License-Identifier: Apache-2.0
// One plane against a peer that the test plays: what arrives, and when, is exact.
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/dataplane/plane.h"

#include "dataplane/two_ranks.h"

namespace rudder::dataplane {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::ManualPeer;
using testing_support::ManualTransport;

class LonePlane : public ManualPeer {
 protected:
  Status meet(std::vector<std::byte> greeting) {
    return ManualPeer::meet(graph_.graph(), std::move(greeting));
  }
  void meet() {
    const Status met = meet(encode_hello(peer_hello()));
    ASSERT_TRUE(met.ok()) << met.error().message;
  }
  [[nodiscard]] std::vector<std::byte> filled(std::size_t rows, unsigned value) const {
    return std::vector<std::byte>(rows * graph_.row_bytes(), static_cast<std::byte>(value));
  }
  static FrameHeader answer(const testing_support::SentMessage& pull, FrameType type = FrameType::kRows) {
    FrameHeader header = pull.frame();
    header.type = type;
    return header;
  }
  [[nodiscard]] std::shared_ptr<Ticket> pull(std::span<const NodeId> ids, std::byte* to,
                                             std::shared_ptr<const void> keep = nullptr) {
    return plane_->pull(0, ids, graph_.row_bytes(), to, std::move(keep));
  }
};

TEST_F(LonePlane, NamesEveryDisagreement) {
  options_.deadline = from_seconds(0.1);
  const auto message = [&](auto change) {
    Hello hello = peer_hello();
    change(hello);
    const Status met = meet(encode_hello(hello));
    return met.ok() ? std::string("agreed") : met.error().message;
  };
  EXPECT_THAT(message([](Hello& h) { h.partition_digest = "x"; }),
              AllOf(HasSubstr("rank 1 (host there) disagrees: partition digest 'x' there"),
                    HasSubstr(graph_.graph().digest())));
  EXPECT_EQ(message([](Hello& h) { h.dtype = "f16"; }),
            "rank 1 (host there) disagrees: feature type 'f16' there, 'f32' here");
  EXPECT_EQ(message([](Hello& h) { h.row_bytes = 1; }),
            "rank 1 (host there) disagrees: bytes of a row '1' there, '28' here");
  EXPECT_EQ(message([](Hello& h) { h.wire = "f16"; }),
            "rank 1 (host there) disagrees: type of features on the wire 'f16' there, 'f32' here");
  EXPECT_EQ(message([](Hello& h) { h.topology = "owner"; }),
            "rank 1 (host there) disagrees: topology 'owner' there, 'replicated' here");
  EXPECT_EQ(message([](Hello& h) { h.world = 3; }),
            "rank 1 (host there) disagrees: number of ranks '3' there, '2' here");
  EXPECT_EQ(message([](Hello& h) { h.rank = 0; }), "rank 1 (host there) disagrees: rank '0' there, '1' here");
  EXPECT_EQ(message([](Hello& h) { h.protocol = 9; }),
            "rank 1 disagrees: protocol version '9' there, '2' here");
}

TEST_F(LonePlane, GivesUpOnASilentPeer) {
  options_.deadline = from_seconds(0.1);
  const Status met = meet({});
  ASSERT_FALSE(met.ok());
  EXPECT_EQ(met.error().code, Errc::kTimeout);
  EXPECT_EQ(met.error().message, "no hello from rank 1");
}

TEST_F(LonePlane, TimesOutOnAnOwnerThatIsSilentAndDiscardsItsLateAnswer) {
  options_.deadline = from_seconds(0.1);
  meet();
  auto rows = filled(3, 7);
  const auto ticket = pull(theirs(3), rows.data());
  const auto asked = peer_->next_sent();
  ASSERT_TRUE(asked.has_value());
  const auto waited = plane_->wait(ticket);
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code, Errc::kTimeout);
  EXPECT_THAT(waited.error().message, HasSubstr("rank 1 (host there) with 1 requests"));
  EXPECT_FALSE(peer_->deliver(1, answer(*asked), filled(3, 1)));
  EXPECT_EQ(plane_->discarded_frames(), 1U);
  EXPECT_EQ(rows, filled(3, 7));
}

TEST_F(LonePlane, AnOwnerThatAnswersNowAndThenIsNotSilent) {
  options_.deadline = from_seconds(0.4);
  options_.request_bytes = 1;
  options_.credits = 1;
  meet();
  auto rows = filled(8, 0);
  const auto ticket = pull(theirs(8), rows.data());
  // Together far beyond one deadline, each answer within it.
  std::thread owner([&] {
    for (int i = 0; i < 8; ++i) {
      const auto asked = peer_->next_sent();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      peer_->deliver(1, answer(*asked), filled(1, static_cast<unsigned>(i)));
    }
  });
  const auto waited = plane_->wait(ticket);
  owner.join();
  EXPECT_TRUE(waited.ok()) << waited.error().message;
}

TEST_F(LonePlane, KeepsCreditsAndOrder) {
  options_.request_bytes = 2 * graph_.row_bytes();
  options_.credits = 3;
  meet();
  auto rows = filled(14, 0);
  const auto ids = theirs(14);
  const auto ticket = pull(ids, rows.data());
  std::vector<testing_support::SentMessage> asked;
  for (int i = 0; i < 3; ++i) {
    asked.push_back(*peer_->next_sent());
  }
  NodeId next = ids.front();
  for (std::size_t answered = 0; answered < 7; ++answered) {
    EXPECT_EQ(peer_->waiting(), 0U);
    std::vector<NodeId> wanted;
    ASSERT_TRUE(decode_ids(ids.front(), graph_.graph().book().nodes(), 2, asked[answered].body, wanted).ok());
    EXPECT_THAT(wanted, ElementsAre(next, next + 1));
    next += 2;
    EXPECT_TRUE(peer_->deliver(1, answer(asked[answered]), filled(2, static_cast<unsigned>(answered))));
    if (asked.size() < 7) {
      asked.push_back(*peer_->next_sent());
    }
  }
  ASSERT_TRUE(plane_->wait(ticket).ok());
  EXPECT_EQ(rows[2 * 2 * graph_.row_bytes()], std::byte{2});
  EXPECT_EQ(rows.back(), std::byte{6});
}

TEST_F(LonePlane, AnAnswerThatIsArrivingWhenItsPullFailsIsNotWrittenToForgottenMemory) {
  meet();
  for (const bool keep : {false, true}) {
    auto memory = std::make_shared<AlignedBytes>(graph_.row_bytes());
    const std::weak_ptr<AlignedBytes> alive = memory;
    auto ticket = pull(theirs(1), memory->data(), keep ? memory : nullptr);
    const auto asked = peer_->next_sent();
    const auto header = peer_->sealed(1, answer(*asked));
    std::byte* landing = peer_->receiver().landing(1, header, graph_.row_bytes());
    ASSERT_NE(landing, nullptr);
    plane_->abandon(ticket);
    EXPECT_EQ(plane_->wait(ticket).error().code, Errc::kCancelled);
    ticket.reset();
    memory.reset();
    EXPECT_EQ(alive.expired(), !keep);
    std::memset(landing, 1, graph_.row_bytes());  // AddressSanitizer would object to freed memory
    peer_->receiver().received(1, header, {landing, graph_.row_bytes()});
    EXPECT_TRUE(alive.expired());
  }
}

TEST_F(LonePlane, APeerThatFailsWhileItsAnswerArrivesLetsGoOfTheMemory) {
  meet();
  auto memory = std::make_shared<AlignedBytes>(graph_.row_bytes());
  const std::weak_ptr<AlignedBytes> alive = memory;
  auto ticket = pull(theirs(1), memory->data(), memory);
  const auto asked = peer_->next_sent();
  const auto header = peer_->sealed(1, answer(*asked));
  ASSERT_NE(peer_->receiver().landing(1, header, graph_.row_bytes()), nullptr);
  peer_->receiver().peer_failed(1, Error{Errc::kPeer, "cable cut"});
  EXPECT_EQ(plane_->wait(ticket).error().message, "rank 1 (host there): cable cut");
  ticket.reset();
  memory.reset();
  EXPECT_TRUE(alive.expired());
}

TEST_F(LonePlane, DiscardsAnswersThatMatchNothing) {
  meet();
  auto rows = filled(1, 0);
  const auto ticket = pull(theirs(1), rows.data());
  const auto asked = peer_->next_sent();
  FrameHeader wrong = answer(*asked);
  wrong.request += 1;
  EXPECT_FALSE(peer_->deliver(1, wrong, filled(1, 9)));
  EXPECT_FALSE(peer_->deliver(0, answer(*asked), filled(1, 9)));  // right number, wrong owner
  wrong.request = 0;
  EXPECT_FALSE(peer_->deliver(1, wrong, filled(1, 9)));
  EXPECT_EQ(plane_->discarded_frames(), 3U);
  EXPECT_TRUE(peer_->deliver(1, answer(*asked), filled(1, 3)));
  EXPECT_FALSE(peer_->deliver(1, answer(*asked), filled(1, 9)));  // twice
  ASSERT_TRUE(plane_->wait(ticket).ok());
  EXPECT_EQ(rows, filled(1, 3));
}

TEST_F(LonePlane, ReportsTheReasonOfARefusalWithoutControlCharacters) {
  meet();
  auto rows = filled(1, 0);
  const auto ticket = pull(theirs(1), rows.data());
  const std::string reason = "out\nof\x1b coffee";
  peer_->deliver(1, answer(*peer_->next_sent(), FrameType::kRefused), std::as_bytes(std::span(reason)));
  EXPECT_EQ(plane_->wait(ticket).error().message, "rank 1 (host there) refused: out?of? coffee");
}

TEST_F(LonePlane, AnAnswerWithoutRowsFailsThePull) {
  meet();
  auto rows = filled(1, 0);
  const auto ticket = pull(theirs(1), rows.data());
  peer_->deliver(1, answer(*peer_->next_sent()), {});
  EXPECT_THAT(plane_->wait(ticket).error().message, HasSubstr("(0 bytes)"));
}

TEST_F(LonePlane, RefusesRequestsThatDoNotDecode) {
  meet();
  plane_->publish(0, graph_.part(0).features(), graph_.row_bytes());
  const auto refusal = [&](std::uint32_t rows, std::vector<std::byte> ids) {
    peer_->deliver(1, FrameHeader{FrameType::kPull, 0, rows, 5}, ids);
    const auto sent = peer_->next_sent();
    EXPECT_TRUE(sent.has_value());
    EXPECT_EQ(sent->frame().request, 5U);
    return sent->frame().type == FrameType::kRefused ? sent->text() : std::string("served");
  };
  EXPECT_EQ(refusal(1, {std::byte{0}}), "served");
  EXPECT_THAT(refusal(2, {std::byte{0}}), HasSubstr("2 ids in 1 bytes"));
  EXPECT_THAT(refusal(1, {std::byte{0}, std::byte{0}}), HasSubstr("1 bytes after the last"));
  EXPECT_THAT(refusal(1, {std::byte{0xff}, std::byte{0x7f}}), HasSubstr("outside of [0, "));
  EXPECT_THAT(refusal(1, {std::byte{0xff}}), HasSubstr("cut short"));
  EXPECT_THAT(refusal(0, {std::byte{0}}), HasSubstr("1 bytes of ids for 0 rows"));
  EXPECT_THAT(refusal(0xffffffffU, {std::byte{0}}), HasSubstr("bytes of ids for 4294967295 rows"));
  EXPECT_THAT(refusal(3, {}), HasSubstr("without ids"));
}

TEST_F(LonePlane, DiscardsPullsOfPeersThatHaveNotAgreed) {
  bool taken = true;
  early_ = [&](ManualTransport& peer) {
    taken = peer.deliver(1, FrameHeader{FrameType::kPull, 0, 1, 1}, std::array{std::byte{0}});
  };
  meet();
  EXPECT_FALSE(taken);
  EXPECT_EQ(plane_->discarded_frames(), 1U);
}

TEST_F(LonePlane, SurvivesRandomFrames) {
  meet();
  plane_->publish(0, graph_.part(0).features(), graph_.row_bytes());
  CounterRng rng({99});
  for (int round = 0; round < 20'000; ++round) {
    std::array<std::byte, kFrameHeaderBytes> header{};
    encode_header(FrameHeader{static_cast<FrameType>(rng.below(8)), static_cast<std::uint8_t>(rng.below(2)),
                              static_cast<std::uint32_t>(rng() >> rng.below(64)), rng() >> rng.below(64)},
                  header);
    std::vector<std::byte> body(rng.below(40));
    for (auto& b : body) {
      b = static_cast<std::byte>(rng());
    }
    if (rng.below(4) == 0) {
      header[rng.below(header.size())] ^= static_cast<std::byte>(1U << rng.below(8));
    }
    const auto sealed = peer_->sealed(1, header);
    peer_->deliver(1, std::span(sealed).first(rng.below(8) == 0 ? rng.below(sealed.size()) : sealed.size()),
                   body);
  }
  // Still there.
  peer_->deliver(1, FrameHeader{FrameType::kPing, 0, 0, 1}, {});
  std::size_t pongs = 0;
  while (peer_->waiting() != 0) {
    pongs += peer_->next_sent()->frame().type == FrameType::kPong ? 1U : 0U;
  }
  EXPECT_GT(pongs, 0U);
}

TEST_F(LonePlane, FindsAPeerThatDoesNotAnswerPings) {
  meet();
  EXPECT_THAT(plane_->find_failed_peers(from_seconds(0.05)),
              ElementsAre("rank 1 (host there): no answer within 0.1 s"));
  // A pong that was never asked for doesn't count for later pings.
  peer_->deliver(1, FrameHeader{FrameType::kPong, 0, 0, 1000}, {});
  EXPECT_EQ(plane_->find_failed_peers(from_seconds(0.05)).size(), 1U);
}

}  // namespace
}  // namespace rudder::dataplane

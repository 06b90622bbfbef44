// SPDX-License-Identifier: Apache-2.0
// Who may talk to a plane: peers that know the run's secret, and strangers that do not, over real transports.
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/dataplane/plane.h"

#include "dataplane/played_peer.h"
#include "dataplane/sealed_transport.h"
#include "dataplane/two_ranks.h"

namespace rudder::dataplane {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::PlayedPeer;
using testing_support::TwoRanks;

using Ends = std::vector<std::unique_ptr<transport::Transport>>;

Ends make_ends(const std::string& kind) {
  if (kind == "loopback") {
    return transport::make_loopback_transports(2);
  }
  ::setenv("UCX_TLS", "tcp", 1);
  Ends ends;
  for (Rank r = 0; r < 2; ++r) {
    ends.push_back(std::move(transport::make_ucx_transport(r, 2)).value());
  }
  ::unsetenv("UCX_TLS");
  return ends;
}

/// A plane as rank 0, and a peer as rank 1 that the test plays. The parameter is the transport.
class Strangers : public TwoRanks, public testing::WithParamInterface<std::string> {
 protected:
  [[nodiscard]] Hello hello() const {
    Hello hello = peer_hello();
    fill_random(hello.nonce);
    return hello;
  }
  /// Plane and peer meet; says how that ended for the plane.
  std::string meet(const std::vector<std::byte>& hello, const Secret& secret,
                   const std::function<void(PlayedPeer&)>& on_hello = nullptr) {
    plane_.reset();
    peer_.reset();
    const auto rendezvous = std::make_shared<transport::LocalRendezvous>();
    Ends ends = make_ends(GetParam());
    peer_ = std::make_unique<PlayedPeer>(std::move(ends[1]), hello, secret);
    if (on_hello) {
      peer_->on_hello = on_hello;
    }
    Status met;
    std::jthread other([&] { met = peer_->meet(*rendezvous, options_.session); });
    auto plane = Plane::create(graph_.graph(), std::move(ends[0]), *rendezvous, options_);
    other.join();
    EXPECT_TRUE(met.ok()) << met.error().message;
    if (!plane.ok()) {
      return plane.error().message;
    }
    plane_ = std::move(plane).value();
    plane_->publish(0, graph_.part(0).features(), graph_.row_bytes());
    return "met";
  }
  std::string meet() { return meet(encode_hello(hello()), options_.secret); }

  std::unique_ptr<PlayedPeer> peer_;
};

INSTANTIATE_TEST_SUITE_P(Over, Strangers, testing::Values("loopback", "ucx"),
                         [](const auto& made) { return made.param; });

const auto kUnknown = HasSubstr("rank 1 (host there) does not know this run's secret");

TEST_P(Strangers, APeerThatKnowsTheSecretIsServed) {
  ASSERT_EQ(meet(), "met");
  EXPECT_EQ(peer_->planes_proof(), peer_->planes_seal());
  peer_->send(FrameHeader{FrameType::kPull, 0, 2, 7}, std::array{std::byte{0}, std::byte{1}});
  const auto rows = peer_->next();
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->first.type, FrameType::kRows);
  EXPECT_EQ(rows->second.size(), 2 * graph_.row_bytes());
  EXPECT_TRUE(graph_.row_is_right(0, rows->second.data()));
  EXPECT_TRUE(graph_.row_is_right(2, rows->second.data() + graph_.row_bytes()));
  EXPECT_EQ(plane_->discarded_frames(), 0U);
}

TEST_P(Strangers, AnotherSecretIsNamedAsTheReason) {
  EXPECT_THAT(meet(encode_hello(hello()), Secret()), AllOf(kUnknown, HasSubstr("RUDDER_SECRET")));
}

TEST_P(Strangers, AProofIsWaitedForAndItsLackIsNamed) {
  options_.deadline = from_seconds(2);
  EXPECT_EQ(meet(encode_hello(hello()), options_.secret, [](PlayedPeer&) {}),
            "no proof of the run's secret from rank 1 (host there)");
}

TEST_P(Strangers, AProofOfAnEarlierMeetingDoesNotPass) {
  std::vector<std::byte> old_proof;
  const auto body = encode_hello(hello());
  ASSERT_EQ(meet(body, options_.secret,
                 [&](PlayedPeer& peer) {
                   old_proof = encode_proof(peer.seal());
                   peer.send(old_proof, {});
                 }),
            "met");
  EXPECT_THAT(meet(body, Secret(), [&](PlayedPeer& peer) { peer.send(old_proof, {}); }), kUnknown);
}

TEST_P(Strangers, ThePlanesOwnProofSentBackDoesNotPass) {
  EXPECT_THAT(meet(encode_hello(hello()), options_.secret,
                   [](PlayedPeer& peer) { peer.send(encode_proof(peer.planes_seal()), {}); }),
              kUnknown);
}

TEST_P(Strangers, ThePlanesOwnChallengeSentBackDoesNotPass) {
  const auto reflected = [](Rank rank) {
    return [rank](PlayedPeer& peer) {
      Hello copy = decode_hello(peer.planes_hello()).value();
      copy.rank = rank;
      peer.send(std::as_bytes(std::span(kHelloMagic)), encode_hello(copy));
      peer.send(encode_proof(peer.planes_seal()), {});
    };
  };
  EXPECT_THAT(meet({}, options_.secret, reflected(0)), HasSubstr("rank '0' there, '1' here"));
  EXPECT_EQ(meet({}, options_.secret, reflected(1)),
            "rank 1 (host here) disagrees: it sent this rank's own challenge back");
}

TEST_P(Strangers, ThePreviousProtocolIsNamedWithBothNumbers) {
  Hello old = hello();
  old.protocol = 1;
  auto body = encode_hello(old);
  body.resize(body.size() - old.nonce.size());  // version 1 had no challenge
  EXPECT_EQ(meet(body, options_.secret, [](PlayedPeer&) {}),
            "rank 1 disagrees: protocol version '1' there, '2' here");
}

TEST_P(Strangers, FramesWithoutTheSealOfTheirSenderAreNotHandled) {
  ASSERT_EQ(meet(), "met");
  const FrameHeader pull{FrameType::kPull, 0, 1, 7};
  const std::array id = {std::byte{0}};
  Seal wrong = peer_->seal();
  wrong.back() ^= std::byte{1};
  peer_->send(pull, id, wrong);
  peer_->send(pull, id, Seal{});
  peer_->send(pull, id, peer_->planes_seal());
  peer_->send(FrameHeader{FrameType::kPing, 0, 0, 3}, {}, wrong);
  std::array<std::byte, kFrameHeaderBytes> bare{};
  encode_header(pull, bare);
  peer_->send(bare, id);
  peer_->send(FrameHeader{FrameType::kPing, 0, 0, 4}, {});
  const auto answer = peer_->next();  // to the last one and to nothing before it
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->first.type, FrameType::kPong);
  EXPECT_EQ(answer->first.request, 4U);
  EXPECT_EQ(plane_->discarded_frames(), 5U);
}

TEST_P(Strangers, NothingIsHandledBeforeTheProof) {
  const std::array id = {std::byte{0}};
  ASSERT_EQ(meet(encode_hello(hello()), options_.secret,
                 [&](PlayedPeer& peer) {
                   peer.send(FrameHeader{FrameType::kPull, 0, 1, 7}, id, Seal{});
                   peer.send(FrameHeader{FrameType::kPull, 0, 1, 7}, id);
                   peer.send(FrameHeader{FrameType::kPing, 0, 0, 8}, {});
                   peer.send(encode_proof(peer.seal()), {});
                 }),
            "met");
  EXPECT_TRUE(peer_->pinged(9));
  EXPECT_EQ(plane_->discarded_frames(), 3U);
  EXPECT_FALSE(peer_->next(from_seconds(0)).has_value());
}

TEST_P(Strangers, TwoPlanesWithDifferentSecretsRefuseEachOtherOnBothSides) {
  const auto rendezvous = std::make_shared<transport::LocalRendezvous>();
  Ends ends = make_ends(GetParam());
  std::array<std::string, 2> messages;
  std::vector<std::jthread> threads;
  for (Rank r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      PlaneOptions options;  // with a secret of its own
      options.rank = r;
      options.world = 2;
      options.host = r == 0 ? "left" : "right";
      options.deadline = from_seconds(5);
      const auto plane = Plane::create(graph_.graph(), std::move(ends[r]), *rendezvous, options);
      messages[r] = plane.ok() ? "met" : plane.error().message;
    });
  }
  threads.clear();
  EXPECT_THAT(messages[0], HasSubstr("rank 1 (host right) does not know this run's secret"));
  EXPECT_THAT(messages[1], HasSubstr("rank 0 (host left) does not know this run's secret"));
}

/// A peer that knows the secret and breaks the protocol.
class Garbage : public Strangers {
 protected:
  void SetUp() override { ASSERT_EQ(meet(), "met"); }
  [[nodiscard]] std::shared_ptr<Ticket> pull(std::size_t rows, std::shared_ptr<AlignedBytes>& memory) {
    memory = std::make_shared<AlignedBytes>(rows * graph_.row_bytes());
    return plane_->pull(0, theirs(rows), graph_.row_bytes(), memory->data(), memory);
  }
  /// The plane still answers, and is still answered.
  void still_works() {
    EXPECT_TRUE(peer_->pinged(++pings_));
    std::shared_ptr<AlignedBytes> memory;
    const auto ticket = pull(2, memory);
    const auto asked = peer_->next();
    ASSERT_TRUE(asked.has_value());
    FrameHeader answer = asked->first;
    answer.type = FrameType::kRows;
    const std::vector<std::byte> rows(2 * graph_.row_bytes(), std::byte{5});
    peer_->send(answer, rows);
    const auto waited = plane_->wait(ticket);
    ASSERT_TRUE(waited.ok()) << waited.error().message;
    EXPECT_EQ(memory->data()[0], std::byte{5});
  }

  std::uint64_t pings_ = 1'000'000;
};

INSTANTIATE_TEST_SUITE_P(Over, Garbage, testing::Values("loopback", "ucx"),
                         [](const auto& made) { return made.param; });

TEST_P(Garbage, MalformedFramesAreDroppedAndSaidOnce) {
  const std::vector<std::byte> body(100);
  testing::internal::CaptureStderr();
  std::uint64_t sent = 0;
  for (const bool with_body : {false, true}) {
    const std::span<const std::byte> rest = with_body ? std::span(body) : std::span<const std::byte>();
    for (const unsigned type : {0U, 1U, 99U, 255U}) {
      peer_->send(FrameHeader{static_cast<FrameType>(type), 0, 1, 1}, rest);
      ++sent;
    }
    std::array<std::byte, kSealedHeaderBytes> header{};  // well sealed, with reserved bytes set
    encode_header(FrameHeader{}, std::span(header).first<kFrameHeaderBytes>());
    header[2] = std::byte{1};
    const Seal seal = peer_->seal();
    std::copy(seal.begin(), seal.end(), header.begin() + kFrameHeaderBytes);
    peer_->send(header, rest);
    for (const std::size_t size : {0U, 1U, 8U, 16U, 31U}) {
      peer_->send(std::span(header).first(size), rest);
    }
    std::array<std::byte, transport::kMaxHeaderBytes> longest{};
    peer_->send(longest, rest);
    sent += 7;
  }
  still_works();
  EXPECT_EQ(plane_->discarded_frames(), sent);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("rank 1 (host there) breaks the protocol: frame type 0"));
  EXPECT_EQ(log.find("breaks the protocol"), log.rfind("breaks the protocol")) << log;
}

TEST_P(Garbage, AnswersNobodyAskedForAreDropped) {
  const std::vector<std::byte> rows(4 * graph_.row_bytes());
  for (const std::uint64_t request : {0ULL, 1ULL, 8ULL, ~0ULL}) {
    peer_->send(FrameHeader{FrameType::kRows, 0, 4, request}, rows);
    peer_->send(FrameHeader{FrameType::kRows, 0, 0, request}, {});
    peer_->send(FrameHeader{FrameType::kRefused, 0, 4, request}, std::array{std::byte{'x'}});
    peer_->send(FrameHeader{FrameType::kRefused, 0, 4, request}, std::vector<std::byte>(kMaxReasonBytes + 1));
    peer_->send(FrameHeader{FrameType::kPong, 0, 0, request}, {});
    peer_->send(FrameHeader{FrameType::kPong, 0, 0, request}, rows);
  }
  still_works();
  EXPECT_EQ(plane_->discarded_frames(), 4U * 5);  // a pong without a body is one, if a strange one
}

TEST_P(Garbage, AnswersOfAnotherShapeEndThePullAtOnceAndNameThePeer) {
  const auto answered_with = [&](std::uint32_t rows, std::uint8_t table, std::size_t bytes) {
    std::shared_ptr<AlignedBytes> memory;
    const auto ticket = pull(3, memory);
    const auto asked = peer_->next();
    EXPECT_TRUE(asked.has_value());
    peer_->send(FrameHeader{FrameType::kRows, table, rows, asked->first.request},
                std::vector<std::byte>(bytes));
    const auto waited = plane_->wait(ticket);
    return waited.ok() ? std::string("none") : waited.error().message;
  };
  const std::size_t right = 3 * graph_.row_bytes();
  for (const std::string& message :
       {answered_with(3, 0, right - 1), answered_with(3, 0, right + 1), answered_with(2, 0, right),
        answered_with(0xffffffffU, 0, right), answered_with(3, 1, right), answered_with(3, 0, 0),
        answered_with(3, 0, std::size_t{64} << 20)}) {
    EXPECT_THAT(message,
                HasSubstr("rank 1 (host there) answered a pull of 3 rows of table 0 (84 bytes) with"));
  }
  still_works();
}

TEST_P(Garbage, RequestsThatLieAboutTheirSizeAreRefusedWithTheReason) {
  const auto refusal = [&](std::uint32_t rows, const std::vector<std::byte>& ids) {
    peer_->send(FrameHeader{FrameType::kPull, 0, rows, 5}, ids);
    const auto answer = peer_->next();
    EXPECT_TRUE(answer.has_value());
    EXPECT_EQ(answer->first.type, FrameType::kRefused);
    std::string reason;
    for (const std::byte b : answer->second) {
      reason += static_cast<char>(b);
    }
    return reason;
  };
  EXPECT_THAT(refusal(1, std::vector<std::byte>(std::size_t{16} << 20)),
              HasSubstr("bytes of ids for 1 rows"));
  EXPECT_THAT(refusal(0xffffffffU, std::vector<std::byte>(9)), HasSubstr("for 4294967295 rows"));
  EXPECT_THAT(refusal(3, std::vector<std::byte>(2)), HasSubstr("3 ids in 2 bytes"));
  EXPECT_THAT(refusal(1, std::vector<std::byte>(9, std::byte{0xff})), HasSubstr("cut short, too long"));
  EXPECT_THAT(refusal(4, {}), HasSubstr("without ids"));
  still_works();
}

TEST_P(Garbage, AFloodOfRequestsWhoseAnswersAreNotTakenIsBounded) {
  const std::uint64_t before = plane_->counters().sent_messages;
  constexpr std::uint64_t kFlood = 3000;
  {
    const auto deaf = peer_->deafen();
    for (std::uint64_t i = 0; i < kFlood; ++i) {
      peer_->send(FrameHeader{FrameType::kPull, 0, 1, i}, std::array{std::byte{0}});
      peer_->send(FrameHeader{FrameType::kPull, 9, 1, i},
                  std::array{std::byte{0}});  // a table that never comes
      peer_->send(FrameHeader{FrameType::kPull, 0, 0, i}, {});
      peer_->send(FrameHeader{FrameType::kPing, 0, 0, i}, {});
    }
    if (GetParam() ==
        "loopback") {  // holds every answer; UCX takes small ones out of the plane's hands at once
      const Deadline deadline = Deadline::in(from_seconds(20));
      while (plane_->discarded_frames() < 4 * kFlood - SealedTransport::kMaxOwed) {
        ASSERT_FALSE(deadline.passed()) << plane_->discarded_frames();
        std::this_thread::yield();
      }
      EXPECT_LE(plane_->counters().sent_messages - before, SealedTransport::kMaxOwed);
    }
  }
  // What waits for table 9 is answered, and once that has left, so are others again.
  plane_->publish(9, graph_.part(0).features(), graph_.row_bytes());
  const Deadline deadline = Deadline::in(from_seconds(20));
  bool answered = false;
  while (!answered && !deadline.passed()) {
    peer_->send(FrameHeader{FrameType::kPing, 0, 0, kFlood}, {});
    for (auto frame = peer_->next(from_seconds(0.2)); frame && !answered;
         frame = peer_->next(from_seconds(0))) {
      answered = frame->first.type == FrameType::kPong && frame->first.request == kFlood;
    }
  }
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace rudder::dataplane

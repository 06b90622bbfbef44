// SPDX-License-Identifier: Apache-2.0
// Asks for neighbours against a peer that the test plays: what arrives, and when, is exact.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/dataplane/plane.h"
#include "rudder/dataplane/sample_wire.h"

#include "dataplane/two_ranks.h"

namespace rudder::dataplane {
namespace {

using sample::DrawnNeighbors;
using sample::HopRule;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::ManualPeer;
using testing_support::ManualTransport;
using testing_support::SentMessage;

constexpr HopRule kRule{77, 3};

/// Rank 0 has the structure of its own part only.
class LoneOwner : public ManualPeer {
 protected:
  LoneOwner() : own_(graph::PartitionedGraph::open_own(graph_.graph().directory(), 0).value()) {}

  void TearDown() override {
    remote_.reset();
    ManualPeer::TearDown();
  }
  void meet() {
    const Status met = ManualPeer::meet(own_, encode_hello(peer_hello("owner")));
    ASSERT_TRUE(met.ok()) << met.error().message;
    remote_ = plane_->remote_neighbors();
  }
  /// Answers `asked` about its first `rows` nodes as the peer with the real structure would.
  void answer(const SentMessage& asked, std::size_t rows) {
    HopRule rule;
    std::vector<NodeId> ids;
    ASSERT_TRUE(decode_ask(own_.book().size(1), asked.frame().rows, asked.body, rule, ids).ok());
    sample::NeighborDrawer drawer(graph_.graph().slice(1));
    DrawnNeighbors drawn;
    for (std::size_t i = 0; i < rows; ++i) {
      drawer.draw(ids[i] + own_.book().begin(1), rule, drawn);
    }
    std::vector<std::byte> body;
    encode_drawn(drawn, body);
    EXPECT_TRUE(send(asked, rows, body));
  }
  bool send(const SentMessage& asked, std::size_t rows, std::span<const std::byte> body) {
    return peer_->deliver(
        1, FrameHeader{FrameType::kDrawn, 0, static_cast<std::uint32_t>(rows), asked.frame().request}, body);
  }
  /// Waits for one question that is answered with `rows` and `body`.
  std::string answered_with(std::size_t rows, std::vector<std::byte> body) {
    const auto nodes = theirs(4);
    const auto question = remote_->ask(nodes, kRule);
    const auto asked = peer_->next_sent();
    send(*asked, rows, body);
    DrawnNeighbors out;
    const auto waited = question->wait(out);
    return waited.ok() ? "taken" : waited.error().message;
  }

  graph::PartitionedGraph own_;
  std::unique_ptr<sample::RemoteNeighbors> remote_;
};

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> out;
  for (const unsigned value : values) {
    out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

TEST_F(LoneOwner, AsksOnceAndAgainForWhatALongAnswerLeavesOut) {
  meet();
  const auto nodes = theirs(9);
  const auto question = remote_->ask(nodes, kRule);
  std::thread peer([&] {
    for (const auto& [rows, answered] : {std::pair{9U, 4U}, {5U, 1U}, {4U, 4U}}) {
      const auto asked = peer_->next_sent();
      ASSERT_TRUE(asked.has_value());
      EXPECT_EQ(asked->frame().type, FrameType::kAsk);
      EXPECT_EQ(asked->frame().rows, rows);
      answer(*asked, answered);
    }
  });
  DrawnNeighbors got;
  const auto moved = question->wait(got);
  peer.join();
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  DrawnNeighbors expected;
  sample::NeighborDrawer(graph_.graph().slice(1)).draw(nodes, kRule, expected);
  EXPECT_EQ(got.counts, expected.counts);
  EXPECT_EQ(got.ids, expected.ids);
  EXPECT_EQ(moved->nodes, 9U);
  EXPECT_EQ(moved->messages, 6U);
  EXPECT_EQ(peer_->waiting(), 0U);
}

TEST_F(LoneOwner, KeepsItsWindow) {
  meet();
  const auto nodes = theirs(1);
  std::vector<std::unique_ptr<sample::Question>> questions;
  for (int i = 0; i < 20; ++i) {
    questions.push_back(remote_->ask(nodes, kRule));
  }
  std::vector<SentMessage> asked;
  for (int i = 0; i < 16; ++i) {
    asked.push_back(*peer_->next_sent());
  }
  EXPECT_EQ(peer_->waiting(), 0U);
  for (std::size_t i = 0; i < 20; ++i) {
    answer(asked[i], 1);
    if (asked.size() < 20) {
      asked.push_back(*peer_->next_sent());
    }
  }
  for (const auto& question : questions) {
    DrawnNeighbors out;
    EXPECT_TRUE(question->wait(out).ok());
  }
}

TEST_F(LoneOwner, ASilentOwnerIsNamedWithinTheDeadline) {
  options_.deadline = from_seconds(0.1);
  meet();
  const auto nodes = theirs(3);
  const auto question = remote_->ask(nodes, kRule);
  const auto asked = peer_->next_sent();
  DrawnNeighbors out;
  const auto waited = question->wait(out);
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code, Errc::kTimeout);
  EXPECT_EQ(waited.error().message,
            "no answer within 0.1 s to an ask for neighbours from rank 1 (host there) with 1 requests");
  EXPECT_FALSE(send(*asked, 1, bytes({0}))) << "too late";
}

TEST_F(LoneOwner, ADeadOwnerIsNamedNowAndLater) {
  meet();
  const auto nodes = theirs(3);
  const auto question = remote_->ask(nodes, kRule);
  std::thread peer([&] {
    const auto asked = peer_->next_sent();
    peer_->receiver().peer_failed(1, Error{Errc::kPeer, "connection reset"});
  });
  DrawnNeighbors out;
  EXPECT_EQ(question->wait(out).error().message, "rank 1 (host there): connection reset");
  peer.join();
  EXPECT_EQ(remote_->ask(nodes, kRule)->wait(out).error().message, "rank 1 (host there): connection reset");
}

TEST_F(LoneOwner, WrongAnswersNameTheirSenderAndTheRestGoesOn) {
  meet();
  const auto names = HasSubstr("rank 1 (host there) answered an ask");
  EXPECT_THAT(answered_with(0, bytes({0})),
              AllOf(names, HasSubstr("about 4 nodes with 1 bytes for 0 nodes")));
  EXPECT_THAT(answered_with(5, bytes({0, 0, 0, 0, 0})), AllOf(names, HasSubstr("for 5 nodes")));
  EXPECT_THAT(answered_with(4, {}), AllOf(names, HasSubstr("0 bytes for 4 nodes")));
  EXPECT_THAT(answered_with(4, std::vector<std::byte>(std::size_t{1} << 20)),
              AllOf(names, HasSubstr("1048576 bytes for 4 nodes")))
      << "nobody reserves memory for that";
  EXPECT_THAT(answered_with(2, bytes({4, 0})),
              AllOf(names, HasSubstr("4 neighbours of node 0 of 2, at most 3")));
  EXPECT_THAT(answered_with(2, bytes({1, 0})), AllOf(names, HasSubstr("neighbour 0 of 1")));
  EXPECT_THAT(answered_with(1, bytes({1, 1})), AllOf(names, HasSubstr("outside of [0, 600)")));
  EXPECT_THAT(answered_with(2, bytes({1, 2, 8, 2, 0})),
              AllOf(names, HasSubstr("neighbour 5 of node 1 of 2 comes twice")));
  EXPECT_EQ(answered_with(4, bytes({0, 0, 0, 0})), "taken");
}

TEST_F(LoneOwner, ARefusalGivesItsReason) {
  meet();
  const auto nodes = theirs(2);
  const auto question = remote_->ask(nodes, kRule);
  const auto asked = peer_->next_sent();
  FrameHeader header = asked->frame();
  header.type = FrameType::kAskRefused;
  EXPECT_TRUE(peer_->deliver(1, header, std::as_bytes(std::span("no\x01such", 7))));
  DrawnNeighbors out;
  EXPECT_EQ(question->wait(out).error().message, "rank 1 (host there) refused: no?such");
}

TEST_F(LoneOwner, StoppingAndDroppingEndQuestions) {
  meet();
  const auto nodes = theirs(2);
  remote_->ask(nodes, kRule).reset();
  const auto dropped = peer_->next_sent();
  EXPECT_FALSE(send(*dropped, 2, bytes({0, 0})));
  const auto question = remote_->ask(nodes, kRule);
  std::thread other([&] { remote_->stop(); });
  DrawnNeighbors out;
  EXPECT_EQ(question->wait(out).error().code, Errc::kCancelled);
  other.join();
  EXPECT_EQ(remote_->ask(nodes, kRule)->wait(out).error().code, Errc::kCancelled);
  const auto others = plane_->remote_neighbors();
  const auto second = others->ask(nodes, kRule);
  static_cast<void>(peer_->next_sent());  // of the stopped one
  static_cast<void>(peer_->next_sent());
  answer(*peer_->next_sent(), 2);
  EXPECT_TRUE(second->wait(out).ok()) << "each is stopped for itself";
}

TEST_F(LoneOwner, AnswersAsksAboutItsNodesAndRefusesOthersWithTheReason) {
  meet();
  const auto ask = [&](std::size_t rows, std::span<const std::byte> body) {
    peer_->deliver(1, FrameHeader{FrameType::kAsk, 0, static_cast<std::uint32_t>(rows), 5}, body);
    return *peer_->next_sent();
  };
  std::vector<std::byte> body;
  encode_ask(kRule, 0, std::vector<NodeId>{2, 7}, body);
  const SentMessage right = ask(2, body);
  EXPECT_EQ(right.frame().type, FrameType::kDrawn);
  EXPECT_EQ(right.frame().rows, 2U);
  EXPECT_EQ(right.frame().request, 5U);
  DrawnNeighbors got;
  ASSERT_TRUE(decode_drawn({600, 3}, 2, right.body, got).ok());
  DrawnNeighbors expected;
  sample::NeighborDrawer(graph_.graph().slice(0)).draw(std::vector<NodeId>{2, 7}, kRule, expected);
  EXPECT_EQ(got.ids, expected.ids);

  const auto refusal = [&](std::size_t rows, std::span<const std::byte> taken) {
    const SentMessage answered = ask(rows, taken);
    EXPECT_EQ(answered.frame().type, FrameType::kAskRefused);
    return answered.text();
  };
  EXPECT_THAT(refusal(3, body), HasSubstr("3 ids in 2 bytes"));
  EXPECT_THAT(refusal(2, std::span(body).first(8)), HasSubstr("an ask of 8 bytes"));
  EXPECT_THAT(refusal(0, body), HasSubstr("14 bytes to ask about 0 nodes"));
  EXPECT_THAT(refusal(1U << 30, body), HasSubstr("to ask about 1073741824 nodes"));
  EXPECT_THAT(refusal(2, {}), HasSubstr("an ask without nodes"));
  body.back() = std::byte{0x7f};
  body.push_back(std::byte{0x7f});
  EXPECT_THAT(refusal(2, body), HasSubstr("bytes after the last"));
  body.clear();
  encode_ask(kRule, 0, std::vector<NodeId>{own_.book().size(0)}, body);
  EXPECT_THAT(refusal(1, body), HasSubstr("outside of [0, "));
}

TEST_F(LoneOwner, AnswersNothingBeforeTheHandshake) {
  early_ = [](ManualTransport& peer) {
    std::vector<std::byte> body;
    encode_ask(kRule, 0, std::vector<NodeId>{0}, body);
    EXPECT_FALSE(peer.deliver(1, FrameHeader{FrameType::kAsk, 0, 1, 1}, body));
  };
  meet();
  EXPECT_EQ(plane_->discarded_frames(), 1U);
}

}  // namespace
}  // namespace rudder::dataplane

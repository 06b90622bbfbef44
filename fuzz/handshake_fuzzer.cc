// SPDX-License-Identifier: Apache-2.0
// Peers that do not know the run's secret, in any order of messages: none is ever believed. One that knows it
// is.
#include <memory>
#include <vector>

#include "rudder/transport/rendezvous.h"

#include "dataplane/handshake.h"
#include "fuzz_input.h"

namespace rudder::dataplane {
namespace {

constexpr Rank kWorld = 3;

Hello hello_of(Rank rank) {
  Hello hello;
  hello.graph_digest = "g";
  hello.partition_digest = "p";
  hello.dtype = "f32";
  hello.row_bytes = 4;
  hello.world = kWorld;
  hello.rank = rank;
  hello.host = "h";
  return hello;
}

/// Any hello, or one that agrees.
std::vector<std::byte> some_hello(fuzz::Input& input, Rank from) {
  if (input.below(2) == 0) {
    const auto bytes = input.bytes(input.integer(1));
    return {bytes.begin(), bytes.end()};
  }
  Hello hello = hello_of(from);
  hello.nonce.fill(static_cast<std::byte>(input.integer(1)));
  return encode_hello(hello);
}

void strangers(fuzz::Input& input) {
  PeerNames names(kWorld);
  const Secret secret;
  const Secret another;
  Handshake handshake(hello_of(0), secret, names);
  std::vector<std::vector<std::byte>> hellos(kWorld);
  while (!input.empty()) {
    const auto from = static_cast<Rank>(1 + input.below(kWorld - 1));
    switch (input.below(5)) {
      case 0:
        hellos[from] = some_hello(input, from);
        static_cast<void>(handshake.heard(from, hellos[from]));
        break;
      case 1: {  // a proof made of another secret, or of bytes, or sent back
        Seal seal = input.below(2) == 0 ? compute_seal(another, hellos[from], handshake.hello())
                                        : handshake.seal_for(from);
        const auto bytes = input.bytes(input.below(4));
        std::copy(bytes.begin(), bytes.end(), seal.begin());
        handshake.heard_proof(from, seal);
        break;
      }
      case 2:
        handshake.heard_foreign(from, Error{Errc::kInvalidData, "foreign"});
        break;
      case 3:
        handshake.lost(from, Error{Errc::kPeer, "lost"});
        break;
      default: {
        std::array<std::byte, kSealedHeaderBytes> frame{};
        const Seal seal = handshake.seal_for(from);
        std::copy(seal.begin(), seal.end(), frame.begin() + kFrameHeaderBytes);
        RUDDER_CHECK(!handshake.open(from, frame), "a frame is opened without a proof");
        RUDDER_CHECK(!handshake.open(from, input.bytes(input.below(40))), "bytes are opened");
      }
    }
  }
  RUDDER_CHECK(!handshake.wait(Deadline::in(Duration{0})).ok(), "strangers are believed");
}

/// A peer that knows the secret, its proof before or behind its hello, and what comes too late.
void friends(fuzz::Input& input) {
  PeerNames names(2);
  const Secret secret;
  Hello mine = hello_of(0);
  mine.world = 2;
  Handshake handshake(mine, secret, names);
  Hello theirs = hello_of(1);
  theirs.world = 2;
  theirs.nonce.fill(std::byte{7});
  const auto body = encode_hello(theirs);
  const bool early = input.below(2) == 0;
  const Seal proof = compute_seal(secret, body, handshake.hello());
  if (early) {
    handshake.heard_proof(1, proof);
  }
  RUDDER_CHECK(handshake.heard(1, body).has_value(), "a hello is answered with a proof");
  if (!early) {
    handshake.heard_proof(1, proof);
  }
  RUDDER_CHECK(handshake.wait(Deadline::in(Duration{0})).ok(), "who knows the secret is believed");
  static_cast<void>(handshake.heard(1, input.bytes(40)));  // too late to change anything
  handshake.heard_proof(1, Seal{});
  std::array<std::byte, kSealedHeaderBytes> frame{};
  std::copy(proof.begin(), proof.end(), frame.begin() + kFrameHeaderBytes);
  RUDDER_CHECK(handshake.open(1, frame).has_value(), "its frames are opened");
  frame[kFrameHeaderBytes + input.below(kSealBytes)] ^= std::byte{1};
  RUDDER_CHECK(!handshake.open(1, frame), "a frame with another seal is opened");
}

/// Values in the store that strangers wrote.
void rendezvous(fuzz::Input& input) {
  const auto store = std::make_shared<transport::LocalRendezvous>();
  const Deadline now = Deadline::in(Duration{0});
  const auto view = transport::authenticate(store, Secret(), 0, 1, now);
  RUDDER_CHECK(view.ok(), "a rank alone joins");
  RUDDER_CHECK(view.value()->put("a", "b").ok() && view.value()->get("a", now).value() == "b", "values pass");
  std::string value = store->get("a", now).value();
  const std::size_t place = input.below(value.size());
  const std::string_view text = input.text();
  if (!text.empty() && value.compare(place, text.size(), text) != 0) {
    value.replace(place, text.size(), text);
    RUDDER_CHECK(store->put("a", value).ok(), "the store takes everything");
    RUDDER_CHECK(!view.value()->get("a", now).ok(), "a forged value passes");
  }
  RUDDER_CHECK(store->put("a", text).ok() && !view.value()->get("a", now).ok(), "a stranger's value passes");
  static_cast<void>(Secret::parse(text));
}

}  // namespace
}  // namespace rudder::dataplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(3)) {
    case 0:
      rudder::dataplane::strangers(input);
      break;
    case 1:
      rudder::dataplane::friends(input);
      break;
    default:
      rudder::dataplane::rendezvous(input);
  }
  return 0;
}

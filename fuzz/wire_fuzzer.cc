// SPDX-License-Identifier: Apache-2.0
// What arrives from peers: hellos, proofs, frame headers, ids, asks for neighbours and their answers; UCX's
// frames and addresses.
#include <set>
#include <vector>

#include "rudder/dataplane/sample_wire.h"
#include "rudder/dataplane/wire.h"

#include "fuzz_input.h"
#include "transport/ucx_frame.h"

namespace rudder::dataplane {
namespace {

void hello(std::span<const std::byte> bytes) {
  if (const auto hello = decode_hello(bytes); hello.ok()) {
    const auto again = encode_hello(*hello);
    RUDDER_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "a hello has one form");
    RUDDER_CHECK(check_agreement(*hello, *hello).ok(), "who agrees with nobody agrees with oneself");
  }
}

void header(std::span<const std::byte> bytes) {
  if (const auto header = decode_header(bytes); header.ok()) {
    std::array<std::byte, kFrameHeaderBytes> again{};
    encode_header(*header, again);
    RUDDER_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "a header has one form");
  }
  if (const auto proof = decode_proof(bytes)) {
    const auto again = encode_proof(*proof);
    RUDDER_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "a proof has one form");
  }
}

void ids(fuzz::Input& input) {
  const auto base = static_cast<NodeId>(input.integer(7));
  const auto limit = static_cast<NodeId>(input.integer(8) >> 1);
  const std::size_t count = input.integer(2);
  const auto bytes = input.rest();
  std::vector<NodeId> ids;
  const Status status = decode_ids(base, limit, count, bytes, ids);
  RUDDER_CHECK(ids.capacity() <= bytes.size(), "memory is bounded by what came");
  if (status.ok()) {
    RUDDER_CHECK(ids.size() == count, "as many ids as announced");
    RUDDER_CHECK(ids.empty() || (ids.front() >= base && ids.back() < limit), "ids lie in their range");
    std::vector<std::byte> again;
    encode_ids(base, ids, again);
    RUDDER_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "ids have one form");
  }
}

void ask(fuzz::Input& input) {
  const auto limit = static_cast<NodeId>(input.integer(7));
  const std::size_t count = input.integer(2);
  const auto bytes = input.rest();
  sample::HopRule rule;
  std::vector<NodeId> ids;
  if (decode_ask(limit, count, bytes, rule, ids).ok()) {
    RUDDER_CHECK(ids.size() == count && rule.fanout >= -1, "as announced");
    std::vector<std::byte> again;
    encode_ask(rule, 0, ids, again);
    RUDDER_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "an ask has one form");
  }
}

void drawn(fuzz::Input& input) {
  const DrawnLimits limits{static_cast<NodeId>(input.integer(7)), input.integer(2)};
  const std::size_t rows = input.integer(2);
  const auto bytes = input.rest();
  sample::DrawnNeighbors out;
  const Status status = decode_drawn(limits, rows, bytes, out);
  RUDDER_CHECK(out.ids.capacity() <= bytes.size() && out.counts.capacity() <= bytes.size(),
               "memory is bounded by what came");
  if (status.ok()) {
    RUDDER_CHECK(out.counts.size() == rows, "as many counts as announced");
    for (const NodeId id : out.ids) {
      RUDDER_CHECK(id >= 0 && id < limits.nodes, "neighbours lie in the graph");
    }
    auto at = out.ids.begin();
    for (const std::uint32_t count : out.counts) {
      RUDDER_CHECK(std::set<NodeId>(at, at + count).size() == count, "a node's neighbours are distinct");
      at += count;
    }
    std::vector<std::byte> again;
    encode_drawn(out, again);
    RUDDER_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
                 "an answer has one form");
  }
}

void ucx(std::span<const std::byte> bytes) {
  if (const auto frame = transport::decode_frame(bytes, 4)) {
    RUDDER_CHECK(frame->from < 4, "ranks lie in the world");
    std::array<std::byte, transport::kFrameBytes> again{};
    const std::size_t size = transport::encode_frame(*frame, again);
    RUDDER_CHECK(std::equal(again.begin(), again.begin() + size, bytes.begin(), bytes.end()),
                 "a frame has one form");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto address = transport::decode_address(text, 1, 4); address.ok()) {
    RUDDER_CHECK(transport::encode_address(1, 4, *address) == text, "an address has one form");
  }
  // What is well-formed passes whatever it holds.
  const auto back = transport::decode_address(transport::encode_address(1, 4, text), 1, 4);
  RUDDER_CHECK(text.empty() ? !back.ok() : back.ok() && *back == text, "addresses come back");
}

}  // namespace
}  // namespace rudder::dataplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(6)) {
    case 0:
      rudder::dataplane::hello(input.rest());
      break;
    case 1:
      rudder::dataplane::header(input.rest());
      break;
    case 2:
      rudder::dataplane::ids(input);
      break;
    case 3:
      rudder::dataplane::ask(input);
      break;
    case 4:
      rudder::dataplane::drawn(input);
      break;
    default:
      rudder::dataplane::ucx(input.rest());
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Checkpoints (the target adds the checksum, which would keep the fuzzer out), and records of accesses as
// ranks leave them with the rendezvous.
#include <cstring>
#include <vector>

#include "rudder/core/sha256.h"
#include "rudder/transport/rendezvous.h"

#include "fuzz_input.h"
#include "train/access_record.h"
#include "train/checkpoint.h"

namespace rudder::train {
namespace {

void checkpoint(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  const auto digest = hash.digest();
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  const auto tail = std::as_bytes(std::span(digest));
  file.insert(file.end(), tail.begin(), tail.end());
  const auto decoded = decode_checkpoint(file, "checkpoint");
  if (decoded.ok()) {
    const auto again = encode_checkpoint(decoded.value());
    const auto twice = decode_checkpoint(again, "checkpoint");
    static_cast<void>(identity_difference(decoded->identity, R"({"seed":1})"));
    RUDDER_CHECK(twice.ok() && encode_checkpoint(twice.value()) == again, "what is read is what was written");
  }
}

void record(std::span<const std::byte> bytes) {
  constexpr NodeId kNodes = 1000;
  transport::LocalRendezvous store;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  RUDDER_CHECK(store.put("accesses/0", text).ok(), "the store takes everything");
  const auto accesses = collect_accesses(store, 1, kNodes, Deadline::in(Duration{0}));
  if (accesses.ok()) {
    AccessRecord again;
    for (const auto& batch : accesses.value()[0]) {
      RUDDER_CHECK(batch.empty() || (batch.front() >= 0 && batch.back() < kNodes), "ids lie in their range");
      again.add(batch);
    }
    RUDDER_CHECK(again.publish(store, 1).ok(), "the store takes everything");
    RUDDER_CHECK(store.get("accesses/1", Deadline::in(Duration{0})).value() == text, "a record has one form");
  }
}

}  // namespace
}  // namespace rudder::train

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  if (input.below(2) == 0) {
    rudder::train::checkpoint(input.rest());
  } else {
    rudder::train::record(input.rest());
  }
  return 0;
}

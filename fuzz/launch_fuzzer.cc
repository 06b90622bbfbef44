// SPDX-License-Identifier: Apache-2.0
// Files of hosts, and what a launcher and the wardens of hosts say to each other.
#include "rudder/launch/hosts.h"

#include "fuzz_input.h"
#include "launch/warden_wire.h"

namespace rudder::launch {
namespace {

void hosts(std::string_view text) {
  const auto found = parse_hosts(text, "hosts");
  if (!found.ok()) {
    return;
  }
  RUDDER_CHECK(!found->empty() && slots_of(*found) <= kMostRanks, "there are hosts, and not too many slots");
  const auto ranges = spread_ranks(*found, slots_of(*found));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const HostEntry& host = (*found)[i];
    RUDDER_CHECK(ranges[i].count == host.slots && !host.name.empty() && host.name.front() != '-',
                 "slots are filled");
  }
}

void event(std::string_view line) {
  const auto found = parse_event(line);
  if (!found.ok()) {
    return;
  }
  if (found->kind == Event::Kind::kLine) {
    const std::string written = encode_line(found->rank, found->stream, found->text);
    const auto again = parse_event(written);
    RUDDER_CHECK(again.ok() && again->rank == found->rank && again->text == found->text, "lines come back");
  } else if (found->kind == Event::Kind::kExit) {
    const std::string written = encode_exit(found->rank, found->exit);
    const auto again = parse_event(written);
    RUDDER_CHECK(again.ok() && again->rank == found->rank && again->exit.code == found->exit.code,
                 "exits come back");
  }
}

void orders(fuzz::Input& input) {
  switch (input.below(3)) {
    case 0:
      static_cast<void>(parse_hello(input.text()));
      break;
    case 1:
      static_cast<void>(parse_ready(input.text()));
      break;
    default:
      if (const auto start = parse_start(input.text()); start.ok()) {
        const auto written = encode(*start);
        RUDDER_CHECK(written.ok() && parse_start(std::string_view(*written).substr(kStart.size())).ok(),
                     "orders come back");
      }
  }
}

}  // namespace
}  // namespace rudder::launch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(4)) {
    case 0:
      rudder::launch::hosts(input.text());
      break;
    case 1:
      rudder::launch::event(input.text());
      break;
    case 2:
      static_cast<void>(rudder::launch::parse_signal(input.text()));
      break;
    default:
      rudder::launch::orders(input);
  }
  return 0;
}

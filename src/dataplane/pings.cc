// SPDX-License-Identifier: Apache-2.0
#include "dataplane/pings.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "rudder/core/aligned.h"

namespace rudder::dataplane {

Pings::Pings(const PlaneOptions& options, const PeerNames& names, const RequestWindow& window,
             transport::Transport& transport)
    : options_(options),
      names_(names),
      window_(window),
      transport_(transport),
      last_answered_(options.world, 0) {}

void Pings::send(Rank to, FrameType type, std::uint64_t number) {
  std::array<std::byte, kFrameHeaderBytes> header{};
  encode_header({type, 0, 0, number}, header);
  transport_.send(to, header, AlignedBytes{}, 0, nullptr);
}

void Pings::heard(Rank from, const FrameHeader& pong) {
  const std::lock_guard lock(mutex_);
  last_answered_[from] = std::max(last_answered_[from], std::min(pong.request, last_sent_));
  changed_.notify_all();
}

void Pings::peer_failed() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

std::vector<std::string> Pings::find_failed_peers(Duration patience) {
  const Deadline deadline = Deadline::in(patience);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++last_sent_;
  }
  for (Rank r = 0; r < options_.world; ++r) {
    if (r != options_.rank && !window_.failure_of(r)) {
      send(r, FrameType::kPing, number);
    }
  }
  std::vector<std::string> failed;
  std::unique_lock lock(mutex_);
  for (Rank r = 0; r < options_.world; ++r) {
    if (r == options_.rank) {
      continue;
    }
    std::optional<Error> known;
    const bool heard = changed_.wait_until(lock, deadline.at(), [&] {
      known = window_.failure_of(r);
      return known.has_value() || last_answered_[r] >= number;
    });
    if (known) {
      failed.push_back(known->message);
    } else if (!heard) {
      failed.push_back(fmt::format("{}: no answer within {:.1f} s", names_.of(r), to_seconds(patience)));
    }
  }
  return failed;
}

}  // namespace rudder::dataplane

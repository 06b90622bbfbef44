// SPDX-License-Identifier: Apache-2.0
#include "dataplane/handshake.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace rudder::dataplane {

Handshake::Handshake(Hello mine, PeerNames& names)
    : mine_(std::move(mine)), names_(names), verdicts_(mine_.world) {
  verdicts_[mine_.rank].status = Status{};
}

bool Handshake::is_hello(std::span<const std::byte> header) noexcept {
  const auto magic = std::as_bytes(std::span(kHelloMagic));
  return std::equal(header.begin(), header.end(), magic.begin(), magic.end());
}

Status Handshake::judge(Rank from, std::span<const std::byte> body) {
  RUDDER_ASSIGN(const Hello theirs, decode_hello(body));
  names_.set_host(from, theirs.host);
  RUDDER_TRY(check_agreement(mine_, theirs));
  if (theirs.rank != from) {
    return Error{Errc::kPeer, fmt::format("rank '{}' there, '{}' here", theirs.rank, from)};
  }
  return {};
}

void Handshake::heard(Rank from, std::span<const std::byte> body) {
  Status verdict = judge(from, body);
  if (!verdict.ok()) {
    verdict = Error{Errc::kPeer, fmt::format("{} disagrees: {}", names_.of(from), verdict.error().message)};
  }
  settle(from, std::move(verdict), false);
}

void Handshake::heard_foreign(Rank from, const Error& error) {
  settle(from,
         Error{Errc::kPeer, fmt::format("{} speaks another protocol: {}", names_.of(from), error.message)},
         false);
}

void Handshake::lost(Rank peer, const Error& error) {
  settle(peer, Error{Errc::kPeer, fmt::format("{}: {}", names_.of(peer), error.message)}, true);
}

void Handshake::settle(Rank peer, Status verdict, bool lost) {
  {
    const std::lock_guard lock(mutex_);
    if (verdicts_[peer].status) {
      return;
    }
    verdicts_[peer] = {std::move(verdict), lost};
  }
  changed_.notify_all();
}

bool Handshake::agrees(Rank peer) const {
  const std::lock_guard lock(mutex_);
  return verdicts_[peer].status && verdicts_[peer].status->ok();
}

std::optional<Error> Handshake::first_error() const {
  std::optional<Error> error;
  bool lost = false;
  for (const Verdict& verdict : verdicts_) {
    if (verdict.status && !verdict.status->ok() && (!error || (lost && !verdict.lost))) {
      error = verdict.status->error();
      lost = verdict.lost;
    }
  }
  return error;
}

Status Handshake::wait(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto settled = [](const Verdict& v) { return v.status.has_value(); };
  const auto disagrees = [](const Verdict& v) { return v.status && !v.status->ok() && !v.lost; };
  const bool all = changed_.wait_until(lock, deadline.at(), [&] {
    return std::all_of(verdicts_.begin(), verdicts_.end(), settled) ||
           std::any_of(verdicts_.begin(), verdicts_.end(), disagrees);
  });
  if (const auto error = first_error()) {
    return *error;
  }
  if (all) {
    return {};
  }
  std::string silent;
  for (Rank r = 0; r < mine_.world; ++r) {
    if (!verdicts_[r].status) {
      silent += fmt::format("{}{}", silent.empty() ? "" : ", ", names_.of(r));
    }
  }
  return Error{Errc::kTimeout, "no hello from " + silent};
}

}  // namespace rudder::dataplane

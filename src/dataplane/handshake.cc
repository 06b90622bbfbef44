// SPDX-License-Identifier: Apache-2.0
#include "dataplane/handshake.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace rudder::dataplane {
namespace {

Hello with_nonce(Hello hello) {
  fill_random(hello.nonce);
  return hello;
}

}  // namespace

Handshake::Handshake(Hello mine, const Secret& secret, PeerNames& names)
    : mine_(with_nonce(std::move(mine))),
      hello_(encode_hello(mine_)),
      secret_(secret),
      names_(names),
      peers_(mine_.world) {
  peers_[mine_.rank].verdict = Status{};
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
  if (theirs.nonce == mine_.nonce) {
    return Error{Errc::kPeer, "it sent this rank's own challenge back"};
  }
  return {};
}

std::optional<std::vector<std::byte>> Handshake::heard(Rank from, std::span<const std::byte> body) {
  Peer& peer = peers_[from];
  {
    const std::lock_guard lock(mutex_);
    if (peer.verdict || peer.heard) {
      return std::nullopt;
    }
  }
  const Status verdict = judge(from, body);
  if (!verdict.ok()) {
    settle(from,
           Error{Errc::kPeer, fmt::format("{} disagrees: {}", names_.of(from), verdict.error().message)},
           false);
    return std::nullopt;
  }
  const Seal in = compute_seal(secret_, body, hello_);
  const Seal out = compute_seal(secret_, hello_, body);
  std::optional<Seal> early;
  {
    const std::lock_guard lock(mutex_);
    peer.seal_in = in;
    peer.seal_out = out;
    peer.heard = true;
    early = std::exchange(peer.early, std::nullopt);
  }
  if (early) {
    heard_proof(from, *early);
  }
  return encode_proof(out);
}

void Handshake::heard_proof(Rank from, const Seal& proof) {
  Status verdict;
  {
    const std::lock_guard lock(mutex_);
    Peer& peer = peers_[from];
    if (!peer.heard) {
      peer.early = proof;
      return;
    }
    if (!equal_in_constant_time(proof, peer.seal_in)) {
      verdict =
          Error{Errc::kPeer, fmt::format("{} does not know this run's secret: its proof is wrong "
                                         "(RUDDER_SECRET, or ~/.rudder/secret, must be the same for all "
                                         "ranks)",
                                         names_.of(from))};
    }
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
    if (peers_[peer].verdict) {
      return;
    }
    peers_[peer].verdict = std::move(verdict);
    peers_[peer].lost = lost;
  }
  changed_.notify_all();
}

Seal Handshake::seal_for(Rank peer) const {
  const std::lock_guard lock(mutex_);
  return peers_[peer].seal_out;
}

std::optional<std::span<const std::byte>> Handshake::open(Rank from,
                                                          std::span<const std::byte> sealed) const {
  if (sealed.size() != kSealedHeaderBytes) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  const Peer& peer = peers_[from];
  if (!peer.heard || !peer.verdict || !peer.verdict->ok() ||
      !equal_in_constant_time(sealed.subspan(kFrameHeaderBytes), peer.seal_in)) {
    return std::nullopt;
  }
  return sealed.first(kFrameHeaderBytes);
}

std::optional<Error> Handshake::first_error() const {
  const Peer* found = nullptr;
  for (const Peer& peer : peers_) {
    if (peer.verdict && !peer.verdict->ok() && (found == nullptr || (found->lost && !peer.lost))) {
      found = &peer;
    }
  }
  return found == nullptr ? std::nullopt : std::optional(found->verdict->error());
}

std::string Handshake::missing() const {
  std::string silent;
  std::string unproven;
  for (Rank r = 0; r < mine_.world; ++r) {
    if (!peers_[r].verdict) {
      std::string& list = peers_[r].heard ? unproven : silent;
      list += fmt::format("{}{}", list.empty() ? "" : ", ", names_.of(r));
    }
  }
  return fmt::format("{}{}{}{}{}", silent.empty() ? "" : "no hello from ", silent,
                     silent.empty() || unproven.empty() ? "" : "; ",
                     unproven.empty() ? "" : "no proof of the run's secret from ", unproven);
}

Status Handshake::wait(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto settled = [](const Peer& p) { return p.verdict.has_value(); };
  const auto disagrees = [](const Peer& p) { return p.verdict && !p.verdict->ok() && !p.lost; };
  const bool all = changed_.wait_until(lock, deadline.at(), [&] {
    return std::all_of(peers_.begin(), peers_.end(), settled) ||
           std::any_of(peers_.begin(), peers_.end(), disagrees);
  });
  if (const auto error = first_error()) {
    return *error;
  }
  return all ? Status() : Status(Error{Errc::kTimeout, missing()});
}

}  // namespace rudder::dataplane

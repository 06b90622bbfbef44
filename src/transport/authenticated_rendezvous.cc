// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "rudder/transport/rendezvous.h"

namespace rudder::transport {
namespace {

constexpr std::string_view kJoin = "join";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// The tag of the value's purpose and parts, and the value.
template <class... Parts>
std::string signed_value(const Secret& secret, std::string_view purpose, std::string_view value,
                         const Parts&... parts) {
  const Sha256::Digest tag = secret.sign(purpose, {bytes_of(parts)..., bytes_of(value)});
  std::string out(tag.begin(), tag.end());
  return out.append(value);
}

/// What signed_value() was given; nothing when it was not, or with something else.
template <class... Parts>
std::optional<std::string> verified_value(const Secret& secret, std::string_view purpose,
                                          std::string_view stored, const Parts&... parts) {
  constexpr std::size_t kTag = Sha256::Digest{}.size();
  if (stored.size() < kTag) {
    return std::nullopt;
  }
  const std::string_view value = stored.substr(kTag);
  const Sha256::Digest tag = secret.sign(purpose, {bytes_of(parts)..., bytes_of(value)});
  if (!equal_in_constant_time(bytes_of(stored.substr(0, kTag)), std::as_bytes(std::span(tag)))) {
    return std::nullopt;
  }
  return std::string(value);
}

/// Values carry a tag over session, key and value in front.
class AuthenticatedRendezvous final : public Rendezvous {
 public:
  AuthenticatedRendezvous(std::shared_ptr<Rendezvous> store, const Secret& secret, std::string session)
      : store_(std::move(store)), secret_(secret), session_(std::move(session)) {}

  Status put(std::string_view key, std::string_view value) override {
    return store_->put(key, signed_value(secret_, kPurpose, value, session_, key));
  }

  Result<std::string> get(std::string_view key, Deadline deadline) override {
    RUDDER_ASSIGN(const std::string stored, store_->get(key, deadline));
    auto value = verified_value(secret_, kPurpose, stored, session_, key);
    if (!value) {
      return Error{Errc::kPeer,
                   fmt::format("'{}' in the rendezvous was not written by a rank of this run: its signature "
                               "is wrong",
                               key)};
    }
    return *std::move(value);
  }

 private:
  static constexpr std::string_view kPurpose = "rudder rendezvous, version 1, value";

  std::shared_ptr<Rendezvous> store_;
  Secret secret_;
  std::string session_;
};

}  // namespace

Result<std::shared_ptr<Rendezvous>> authenticate(std::shared_ptr<Rendezvous> store, const Secret& secret,
                                                 Rank rank, Rank world, Deadline deadline) {
  constexpr std::string_view kPurpose = "rudder rendezvous, version 1, join";
  const auto key = [](Rank r) { return fmt::format("{}/{}", kJoin, r); };
  std::string nonce(Secret::kBytes, '\0');
  fill_random(std::as_writable_bytes(std::span(nonce)));
  RUDDER_ASSIGN(
      const std::vector<std::string> joined,
      exchange(*store, kJoin, rank, world, signed_value(secret, kPurpose, nonce, key(rank)), deadline));
  std::string session;
  for (Rank r = 0; r < world; ++r) {
    const auto theirs = verified_value(secret, kPurpose, joined[r], key(r));
    if (!theirs || theirs->size() != nonce.size() || (r == rank && *theirs != nonce)) {
      return Error{
          Errc::kPeer,
          fmt::format("'{}' in the rendezvous is not signed with the secret that rank {} has: rank {} was "
                      "started with another one, or a stranger wrote it; RUDDER_SECRET, or ~/.rudder/secret "
                      "where it is not set, must be the same for all ranks",
                      key(r), rank, r)};
    }
    session += *theirs;
  }
  return std::shared_ptr<Rendezvous>(
      std::make_shared<AuthenticatedRendezvous>(std::move(store), secret, std::move(session)));
}

}  // namespace rudder::transport

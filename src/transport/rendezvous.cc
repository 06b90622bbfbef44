// SPDX-License-Identifier: Apache-2.0
#include "rudder/transport/rendezvous.h"

#include <utility>

#include <fmt/format.h>

#include "transport/rank_list.h"

namespace rudder::transport {

Status LocalRendezvous::put(std::string_view key, std::string_view value) {
  {
    const std::lock_guard lock(mutex_);
    values_.insert_or_assign(std::string(key), std::string(value));
  }
  changed_.notify_all();
  return {};
}

Result<std::string> LocalRendezvous::get(std::string_view key, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const bool ended =
      changed_.wait_until(lock, deadline.at(), [&] { return failure_ || values_.contains(key); });
  if (const auto found = values_.find(key); found != values_.end()) {
    return found->second;
  }
  return ended ? *failure_ : Error{Errc::kTimeout, fmt::format("rendezvous: nobody put key '{}'", key)};
}

void LocalRendezvous::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = error;
    }
  }
  changed_.notify_all();
}

std::optional<Error> LocalRendezvous::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Result<std::vector<std::string>> exchange(Rendezvous& rendezvous, std::string_view prefix, Rank rank,
                                          Rank world, std::string_view mine, Deadline deadline) {
  if (rank >= world) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("exchange of '{}': rank {} is not below world size {}", prefix, rank, world)};
  }
  const auto key = [&](Rank r) { return fmt::format("{}/{}", prefix, r); };
  RUDDER_TRY(rendezvous.put(key(rank), mine));
  std::vector<std::string> values(world);
  std::vector<Rank> missing;
  for (Rank r = 0; r < world; ++r) {
    // After the deadline has passed get() only looks, so all missing ranks are found without more waiting.
    Result<std::string> value = rendezvous.get(key(r), deadline);
    if (value.ok()) {
      values[r] = std::move(value).value();
    } else if (value.error().code == Errc::kTimeout) {
      missing.push_back(r);
    } else {
      return value.error().in(fmt::format("exchange of '{}' with rank {}", prefix, r));
    }
  }
  if (!missing.empty()) {
    return Error{Errc::kTimeout,
                 fmt::format("exchange of '{}': no word from {}", prefix, rank_list(missing))};
  }
  return values;
}

Status part(Rendezvous& rendezvous, std::string_view prefix, Rank rank, Rank world, Deadline deadline) {
  RUDDER_TRY(exchange(rendezvous, prefix, rank, world, "here", deadline));
  const std::string seen = fmt::format("{}-seen", prefix);
  if (rank != 0) {
    return rendezvous.put(fmt::format("{}/{}", seen, rank), "");
  }
  RUDDER_TRY(exchange(rendezvous, seen, rank, world, "", deadline));
  return {};
}

}  // namespace rudder::transport

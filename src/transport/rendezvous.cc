// SPDX-License-Identifier: Apache-2.0
#include "rudder/transport/rendezvous.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "transport/rank_list.h"

namespace rudder::transport {
namespace {

class LocalRendezvous final : public Rendezvous {
 public:
  Status put(std::string_view key, std::string_view value) override {
    {
      const std::lock_guard lock(mutex_);
      values_.insert_or_assign(std::string(key), std::string(value));
    }
    changed_.notify_all();
    return {};
  }

  Result<std::string> get(std::string_view key, Deadline deadline) override {
    std::unique_lock lock(mutex_);
    auto found = values_.end();
    const bool there = changed_.wait_until(lock, deadline.at(), [&] {
      found = values_.find(key);
      return found != values_.end();
    });
    if (!there) {
      return Error{Errc::kTimeout, fmt::format("rendezvous: nobody put key '{}'", key)};
    }
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace

std::shared_ptr<Rendezvous> make_local_rendezvous() {
  return std::make_shared<LocalRendezvous>();
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

}  // namespace rudder::transport

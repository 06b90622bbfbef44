// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "rudder/transport/rendezvous.h"

namespace rudder::train::testing {

/// A store for threads of one process.
class MemoryRendezvous final : public transport::Rendezvous {
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
    const std::string name(key);
    if (!changed_.wait_until(lock, deadline.at(), [&] { return values_.contains(name); })) {
      return Error{Errc::kTimeout, "no value for " + name};
    }
    return values_.at(name);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace rudder::train::testing

// SPDX-License-Identifier: Apache-2.0
// How ranks find each other before they are connected.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/core/secret.h"

namespace rudder::transport {

/// A key-value store that all ranks of a run reach. Thread-safe.
class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  virtual ~Rendezvous() = default;

  [[nodiscard]] virtual Status put(std::string_view key, std::string_view value) = 0;
  /// Waits for the key; a timeout names it.
  [[nodiscard]] virtual Result<std::string> get(std::string_view key, Deadline deadline) = 0;
  /// Called by a rank that fails, before it lets go of anything: its peers fail by that, and maybe sooner. A
  /// store of one process keeps what it is told first, the cause; others do nothing.
  virtual void fail(const Error& error) { static_cast<void>(error); }
};

/// One store for ranks that are threads of this process. Once one has failed, nobody waits for what it will
/// not put.
class LocalRendezvous final : public Rendezvous {
 public:
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  /// Ends all waits with this error. The first one is kept.
  void fail(const Error& error) override;
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string, std::less<>> values_;
  std::optional<Error> failure_;
};

/// A view of `store`, which strangers may reach too, for the ranks that know `secret`: values carry an
/// HMAC-SHA256 over key, value and session, and what does not fit is an error that names the key. The session
/// is made of a fresh number of every rank, so that no value of an earlier run with the same secret passes.
/// Waits until all ranks have joined; a timeout names the missing ones, and an error the rank that has
/// another secret. Strangers can still hinder the ranks from meeting.
[[nodiscard]] Result<std::shared_ptr<Rendezvous>> authenticate(std::shared_ptr<Rendezvous> store,
                                                               const Secret& secret, Rank rank, Rank world,
                                                               Deadline deadline);

/// Puts `mine` under "PREFIX/RANK" and collects everybody's, in rank order. A timeout names the missing
/// ranks.
[[nodiscard]] Result<std::vector<std::string>> exchange(Rendezvous& rendezvous, std::string_view prefix,
                                                        Rank rank, Rank world, std::string_view mine,
                                                        Deadline deadline);

/// Waits until all ranks are here; rank 0, whose store may go when this returns, also until the others have
/// seen that. A timeout names the missing ranks. Each prefix once a run.
[[nodiscard]] Status part(Rendezvous& rendezvous, std::string_view prefix, Rank rank, Rank world,
                          Deadline deadline);

}  // namespace rudder::transport

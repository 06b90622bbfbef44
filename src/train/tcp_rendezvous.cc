// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "train/address.h"
#include "train/collective.h"
#include "train/torch_error.h"

namespace rudder::train {
namespace {

class TcpRendezvous final : public transport::Rendezvous {
 public:
  TcpRendezvous(c10::intrusive_ptr<c10d::TCPStore> store, std::string place)
      : store_(std::move(store)), place_(std::move(place)) {}

  Status put(std::string_view key, std::string_view value) override {
    return guard(
        [&] { store_->set(std::string(key), std::vector<std::uint8_t>(value.begin(), value.end())); });
  }

  // Asks again and again rather than use the store's own wait: that one holds the store's lock, and its late
  // answer would be taken for the next call's after a timeout.
  Result<std::string> get(std::string_view key, Deadline deadline) override {
    const std::string name(key);
    auto pause = std::chrono::microseconds(200);
    for (;;) {
      bool found = false;
      RUDDER_TRY(guard([&] { found = store_->check({name}); }));
      if (found) {
        break;
      }
      if (deadline.passed()) {
        return Error{Errc::kTimeout, fmt::format("no rank put '{}' into the store at {}", name, place_)};
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(10000));
    }
    std::string value;
    RUDDER_TRY(guard([&] {
      const std::vector<std::uint8_t> bytes = store_->get(name);
      value.assign(bytes.begin(), bytes.end());
    }));
    return value;
  }

 private:
  template <class Call>
  Status guard(Call&& call) {
    return catch_torch([&] { return fmt::format("rank 0's store at {}", place_); }, call);
  }

  c10::intrusive_ptr<c10d::TCPStore> store_;
  std::string place_;
};

/// Anything may listen at that port: it must give back what it was given.
Status check_store(TcpRendezvous& store, const RankInfo& who, const std::string& place, Duration deadline) {
  const std::string key = fmt::format("hello/{}", who.rank);
  const Status put = store.put(key, key);
  const Result<std::string> got =
      put.ok() ? store.get(key, Deadline::in(deadline)) : Result<std::string>(put.error());
  if (got.ok() && *got == key) {
    return {};
  }
  return Error{Errc::kPeer,
               fmt::format("rank {}: what listens at {} is not rank 0's store: {}", who.rank, place,
                           got.ok() ? "it answers with something else" : got.error().message)};
}

}  // namespace

Result<std::shared_ptr<transport::Rendezvous>> make_tcp_rendezvous(const RankInfo& who, Duration deadline) {
  quiet_torch_logs();
  std::string place = fmt::format("{}:{}", who.master_address, who.master_port);
  if (who.master_port == 0) {
    return Error{Errc::kInvalidArgument, fmt::format("master port 0 with {} ranks", who.world)};
  }
  if (who.rank != 0) {
    // The store itself would try again only once a second.
    if (const Status up = wait_for_listener(who.master_address, who.master_port, Deadline::in(deadline));
        !up.ok()) {
      return up.error().in(
          fmt::format("rank {} cannot reach rank 0 within {:.1f} s", who.rank, to_seconds(deadline)));
    }
  }
  c10d::TCPStoreOptions options;
  options.port = who.master_port;
  options.isServer = who.rank == 0;
  options.waitWorkers = false;
  options.timeout = std::chrono::ceil<std::chrono::milliseconds>(deadline);
  c10::intrusive_ptr<c10d::TCPStore> store;
  const Status made =
      catch_torch([&] { return fmt::format("rank {}'s store at {}", who.rank, place); },
                  [&] { store = c10::make_intrusive<c10d::TCPStore>(who.master_address, options); });
  if (!made.ok()) {
    const std::string& why = made.error().message;
    const bool taken =
        why.find("EADDRINUSE") != std::string::npos || why.find("already in use") != std::string::npos;
    return taken
               ? Error{Errc::kResource, fmt::format("rank 0 cannot listen on {}: the port is in use", place)}
               : made.error();
  }
  // A stranger behind the port might accept and never answer; the store would wait for it for ever.
  bound_receives(who.master_port, deadline);
  auto rendezvous = std::make_shared<TcpRendezvous>(std::move(store), place);
  if (who.rank != 0) {
    RUDDER_TRY(check_store(*rendezvous, who, place, deadline));
  }
  return std::shared_ptr<transport::Rendezvous>(std::move(rendezvous));
}

}  // namespace rudder::train

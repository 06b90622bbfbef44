// SPDX-License-Identifier: Apache-2.0
#include "train/collective.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/core.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "train/address.h"
#include "train/torch_error.h"

namespace rudder::train {
namespace {

/// Lets Gloo find its peers through any rendezvous. Gloo uses set, get and wait only.
class RendezvousStore final : public c10d::Store {
 public:
  RendezvousStore(transport::Rendezvous& rendezvous, std::chrono::milliseconds timeout)
      : c10d::Store(timeout), rendezvous_(rendezvous) {}

  void set(const std::string& key, const std::vector<std::uint8_t>& value) override {
    check(rendezvous_.put(name(key), std::string(value.begin(), value.end())));
  }
  std::vector<std::uint8_t> get(const std::string& key) override { return fetch(key, timeout_); }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) {
      static_cast<void>(fetch(key, timeout));
    }
  }

  std::int64_t add(const std::string& /*key*/, std::int64_t /*value*/) override { return refuse("add"); }
  bool deleteKey(const std::string& /*key*/) override { return refuse("deleteKey") != 0; }
  bool check(const std::vector<std::string>& /*keys*/) override { return refuse("check") != 0; }
  std::int64_t getNumKeys() override { return refuse("getNumKeys"); }

 private:
  static std::string name(const std::string& key) { return "gloo/" + key; }
  static void check(const Status& status) {
    if (!status.ok()) {
      throw std::runtime_error(status.error().message);
    }
  }
  [[noreturn]] static std::int64_t refuse(const char* call) {
    throw std::logic_error(std::string("the rendezvous has no call '") + call + "'");
  }
  std::vector<std::uint8_t> fetch(const std::string& key, std::chrono::milliseconds timeout) {
    auto value = rendezvous_.get(name(key), Deadline::in(timeout));
    if (!value.ok()) {
      throw std::runtime_error(value.error().message);
    }
    return {value->begin(), value->end()};
  }

  transport::Rendezvous& rendezvous_;
};

class LoneCollective final : public Collective {
 public:
  Rank rank() const override { return 0; }
  Rank world() const override { return 1; }
  Status start_sum(std::span<float> /*values*/) override { return {}; }
  Status finish_sums() override { return {}; }
  Status sum(std::span<double> /*values*/) override { return {}; }
  Status sum(std::span<std::uint64_t> /*values*/) override { return {}; }
  Status max(std::span<std::uint64_t> /*values*/) override { return {}; }
  Status barrier() override { return {}; }
  void set_peer_check(std::function<Status()> /*check*/) override {}
};

/// Gloo's group with two things c10d does not offer: a time limit of our own, and an end from outside.
class GlooGroup final : public c10d::ProcessGroupGloo {
 public:
  using c10d::ProcessGroupGloo::ProcessGroupGloo;

  void wait_forever() {
    for (const auto& context : contexts_) {
      context->setTimeout(std::chrono::hours(24 * 365));
    }
  }
  /// Fails what is under way and all that follows, here and at the peers: Gloo closes all connections when a
  /// wait for any message times out, and nobody sends this one. Asked of every peer: where the connection is
  /// closed already, nothing is waited for.
  void abort() noexcept {
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) {
        continue;
      }
      try {
        std::vector<at::Tensor> nothing = {at::zeros({1}, at::kByte)};
        constexpr int kUnusedTag = 0x61626f72;
        recv(nothing, peer, kUnusedTag)->wait(std::chrono::milliseconds(1));
      } catch (...) {
      }
    }
  }
};

class GlooCollective final : public Collective {
 public:
  GlooCollective(const RankInfo& who, c10::intrusive_ptr<GlooGroup> group, Duration deadline)
      : rank_(who.rank), world_(who.world), deadline_(deadline), group_(std::move(group)) {}
  ~GlooCollective() override {
    if (failed_ || !started_.empty()) {
      group_->abort();
    }
  }

  Rank rank() const override { return rank_; }
  Rank world() const override { return world_; }
  void set_peer_check(std::function<Status()> check) override { check_ = std::move(check); }

  Status start_sum(std::span<float> values) override {
    return guard("gradient sum", [&]() -> Status {
      started_.push_back(start(values, at::kFloat, c10d::ReduceOp::SUM));
      return {};
    });
  }
  Status finish_sums() override {
    return guard("gradient sum", [&]() -> Status {
      for (auto& work : started_) {
        RUDDER_TRY(finish(*work));
      }
      started_.clear();
      return {};
    });
  }
  Status sum(std::span<double> values) override {
    return guard("sum", [&] { return finish(*start(values, at::kDouble, c10d::ReduceOp::SUM)); });
  }
  // Two's complement: signed and unsigned sums have the same bits.
  Status sum(std::span<std::uint64_t> values) override {
    return guard("sum", [&] { return finish(*start(values, at::kLong, c10d::ReduceOp::SUM)); });
  }
  Status max(std::span<std::uint64_t> values) override {
    RUDDER_CHECK(std::ranges::all_of(values, [](std::uint64_t value) { return value >> 63 == 0; }),
                 "maxima are of values below 2^63");
    return guard("maximum", [&] { return finish(*start(values, at::kLong, c10d::ReduceOp::MAX)); });
  }
  Status barrier() override {
    return guard("barrier", [&] { return finish(*group_->barrier()); });
  }

 private:
  template <class T>
  c10::intrusive_ptr<c10d::Work> start(std::span<T> values, at::ScalarType type,
                                       c10d::ReduceOp::RedOpType how) {
    std::vector<at::Tensor> tensors = {
        at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::TensorOptions(type))};
    c10d::AllreduceOptions options;
    options.reduceOp = how;
    return group_->allreduce(tensors, options);
  }

  Status finish(c10d::Work& work) {
    const auto slice = std::chrono::ceil<std::chrono::milliseconds>(deadline_);
    for (int waited = 0; waited < kMostDeadlines; ++waited) {
      try {
        work.wait(slice);
        return {};
      } catch (...) {
        if (work.isCompleted()) {
          throw;
        }
      }
      if (!check_) {
        break;
      }
      RUDDER_TRY(check_());
    }
    return Error{Errc::kTimeout, "some rank did not take part in time"};
  }

  template <class Call>
  Status guard(const char* what, Call&& call) {
    const auto context = [&] { return fmt::format("rank {}: {} over {} ranks", rank_, what, world_); };
    Status status;
    const Status thrown = catch_torch(context, [&] { status = call(); });
    failed_ = failed_ || !thrown.ok() || !status.ok();
    if (!thrown.ok()) {
      return Error{Errc::kPeer, thrown.error().message};
    }
    return status.ok() ? status : status.error().in(context());
  }

  Rank rank_;
  Rank world_;
  Duration deadline_;
  c10::intrusive_ptr<GlooGroup> group_;
  std::vector<c10::intrusive_ptr<c10d::Work>> started_;
  std::function<Status()> check_;
  bool failed_ = false;
};

Result<std::shared_ptr<::gloo::transport::Device>> make_device(const RankInfo& who) {
  std::shared_ptr<::gloo::transport::Device> device;
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') {
    RUDDER_TRY(catch_torch([&] { return fmt::format("GLOO_SOCKET_IFNAME={}", interface); },
                           [&] { device = c10d::ProcessGroupGloo::createDeviceForInterface(interface); }));
    return device;
  }
  RUDDER_ASSIGN(const std::string address, local_address_towards(who.master_address, who.master_port));
  RUDDER_TRY(catch_torch([&] { return "cannot listen on " + address; },
                         [&] { device = c10d::ProcessGroupGloo::createDeviceForHostname(address); }));
  return device;
}

}  // namespace

Result<std::unique_ptr<Collective>> make_collective(const RankInfo& who, transport::Rendezvous& rendezvous,
                                                    Duration deadline) {
  if (who.world == 1) {
    return std::unique_ptr<Collective>(std::make_unique<LoneCollective>());
  }
  RUDDER_ASSIGN(auto device, make_device(who));
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(deadline);
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(std::move(device));
  c10::intrusive_ptr<GlooGroup> group;
  const auto context = [&] {
    return fmt::format("rank {} cannot connect to the other {} ranks", who.rank, who.world - 1);
  };
  RUDDER_TRY(catch_torch(context, [&] {
    group = c10::make_intrusive<GlooGroup>(c10::make_intrusive<RendezvousStore>(rendezvous, timeout),
                                           static_cast<int>(who.rank), static_cast<int>(who.world), options);
    group->wait_forever();
  }));
  auto collective = std::make_unique<GlooCollective>(who, std::move(group), deadline);
  RUDDER_TRY(collective->barrier());
  return std::unique_ptr<Collective>(std::move(collective));
}

}  // namespace rudder::train

// SPDX-License-Identifier: Apache-2.0
#include "train/collective.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
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
};

class GlooCollective final : public Collective {
 public:
  GlooCollective(const RankInfo& who, c10::intrusive_ptr<c10d::ProcessGroupGloo> group)
      : rank_(who.rank), world_(who.world), group_(std::move(group)) {}

  Rank rank() const override { return rank_; }
  Rank world() const override { return world_; }

  Status start_sum(std::span<float> values) override {
    return guard("gradient sum", [&] { started_.push_back(start(values, at::kFloat, c10d::ReduceOp::SUM)); });
  }
  Status finish_sums() override {
    return guard("gradient sum", [&] {
      for (auto& work : started_) {
        work->wait();
      }
      started_.clear();
    });
  }
  Status sum(std::span<double> values) override {
    return guard("sum", [&] { start(values, at::kDouble, c10d::ReduceOp::SUM)->wait(); });
  }
  // Two's complement: signed and unsigned sums have the same bits.
  Status sum(std::span<std::uint64_t> values) override {
    return guard("sum", [&] { start(values, at::kLong, c10d::ReduceOp::SUM)->wait(); });
  }
  Status max(std::span<std::uint64_t> values) override {
    RUDDER_CHECK(std::ranges::all_of(values, [](std::uint64_t value) { return value >> 63 == 0; }),
                 "maxima are of values below 2^63");
    return guard("maximum", [&] { start(values, at::kLong, c10d::ReduceOp::MAX)->wait(); });
  }
  Status barrier() override {
    return guard("barrier", [&] { group_->barrier()->wait(); });
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
  template <class Call>
  Status guard(const char* what, Call&& call) {
    Status status =
        catch_torch([&] { return fmt::format("rank {}: {} over {} ranks", rank_, what, world_); }, call);
    if (!status.ok() && status.error().code == Errc::kInternal) {
      return Error{Errc::kPeer, status.error().message};
    }
    return status;
  }

  Rank rank_;
  Rank world_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::vector<c10::intrusive_ptr<c10d::Work>> started_;
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
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
  const auto context = [&] {
    return fmt::format("rank {} cannot connect to the other {} ranks", who.rank, who.world - 1);
  };
  RUDDER_TRY(catch_torch(context, [&] {
    group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<RendezvousStore>(rendezvous, timeout), static_cast<int>(who.rank),
        static_cast<int>(who.world), options);
  }));
  auto collective = std::make_unique<GlooCollective>(who, std::move(group));
  RUDDER_TRY(collective->barrier());
  return std::unique_ptr<Collective>(std::move(collective));
}

}  // namespace rudder::train

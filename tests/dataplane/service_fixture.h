// SPDX-License-Identifier: Apache-2.0
// Services of hosts over real sockets and shared memory, all in one process.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/files.h"
#include "rudder/dataplane/attach.h"
#include "rudder/dataplane/host_service.h"
#include "rudder/metrics/registry.h"

#include "dataplane/shared_hosts.h"

namespace rudder::dataplane::testing_support {

/// Two hosts of two trainers each; services that the test opens, and their trainers.
class ServiceFixture : public testing::Test {
 protected:
  static GraphShape shape() {
    GraphShape shape;
    shape.parts = 4;
    return shape;
  }
  [[nodiscard]] std::filesystem::path socket(Rank host) const {
    return folder_.path() / ("host" + std::to_string(host) + ".sock");
  }
  ServiceOptions service_options(Rank host, const BufferOptions& buffer) {
    ServiceOptions options;
    options.socket = socket(host);
    options.first_part = host * hosts_.each();
    options.parts = hosts_.each();
    options.buffer = buffer;
    options.listener = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      heard_.push_back(text);
    };
    return options;
  }
  std::unique_ptr<HostService> open(Rank host, const BufferOptions& buffer) {
    auto service =
        HostService::open(hosts_.graph().graph(), hosts_.plane(host), service_options(host, buffer));
    EXPECT_TRUE(service.ok()) << service.error().message;
    return std::move(service).value();
  }
  [[nodiscard]] Result<std::unique_ptr<RowSupply>> attach_rank(Rank rank) {
    return attach_rank(rank, hosts_.run_shape());
  }
  [[nodiscard]] Result<std::unique_ptr<RowSupply>> attach_rank(Rank rank, const RunShape& run) {
    return attach(hosts_.graph().graph(), rank, run, socket(rank / hosts_.each()), from_seconds(10));
  }
  static BufferOptions lookahead(SlotId slots) {
    BufferOptions options;
    options.slots = slots;
    return options;
  }

  metrics::Registry figures_;
  Hosts hosts_{shape(), 2, &figures_};
  TemporaryDirectory folder_ = TemporaryDirectory::create("rudder-service").value();
  std::mutex mutex_;
  std::vector<std::string> heard_;
};

}  // namespace rudder::dataplane::testing_support

// SPDX-License-Identifier: Apache-2.0
#include "sim/tasks.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "rudder/core/machine.h"

namespace rudder::sim {

Status run_tasks(std::size_t count, std::size_t threads, const std::string& name,
                 const std::function<Status(std::size_t)>& task) {
  std::vector<Status> results(count);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&]() noexcept {
    for (std::size_t i = next.fetch_add(1); i < count && !failed.load(); i = next.fetch_add(1)) {
      try {
        results[i] = task(i);
      } catch (const std::exception& error) {
        results[i] = Error{Errc::kResource, error.what()};
      }
      if (!results[i].ok()) {
        failed.store(true);
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) {
      helpers.emplace_back([&] {
        name_this_thread(name);
        work();
      });
    }
    work();
  }
  for (const Status& result : results) {
    RUDDER_TRY(result);
  }
  return {};
}

}  // namespace rudder::sim

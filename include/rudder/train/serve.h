// SPDX-License-Identifier: Apache-2.0
// One host's service in a run of several hosts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "rudder/core/result.h"
#include "rudder/dataplane/host_service.h"
#include "rudder/metrics/registry.h"
#include "rudder/train/options.h"

namespace rudder::train {

struct ServeOptions {
  std::filesystem::path partition;   ///< its parts are divided among the hosts, one after another
  std::filesystem::path socket;      ///< where this host's trainers attach
  std::string buffer = "0.25";       ///< of the host's halo, or rows
  dataplane::BufferOptions sharing;  ///< policy and depth; its slots follow from `buffer`
  std::uint64_t runs = 0;            ///< end after so many; 0: on a signal only
  double link_bits_per_second = 0;   ///< token-bucket link; 0: none
  double deadline_seconds = 10;
  metrics::Registry* figures = nullptr;  ///< gets figures of service, buffer and peers; null: none
};

/// Hears of finished runs.
using RunListener = std::function<void(const dataplane::ServedRun&)>;
/// Hears, in words, who attaches and leaves.
using ServiceLog = std::function<void(const std::string&)>;

/// Host `who.rank` of `who.world`: meets the others, serves its parts' rows to them and a buffer to its
/// trainers. Blocks until `options.runs` have been served and all hosts have come so far, or until
/// `stop_descriptor` becomes readable, which is no error.
[[nodiscard]] Status serve_host(const ServeOptions& options, const RankInfo& who, const RunListener& on_run,
                                const ServiceLog& log, int stop_descriptor);

}  // namespace rudder::train

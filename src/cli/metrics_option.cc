// SPDX-License-Identifier: Apache-2.0
#include "cli/metrics_option.h"

#include <utility>

#include <fmt/format.h>

#include "rudder/core/log.h"

#ifndef RUDDER_VERSION
#define RUDDER_VERSION "unknown"
#endif

namespace rudder::cli {

void MetricsOption::add_to(OptionTable& table) {
  table.custom({.key = "metrics",
                .metavar = "PORT",
                .help = "Serve figures of the run for Prometheus on this port of 127.0.0.1, or at HOST:PORT; "
                        "rank r of a machine takes PORT + r, port 0 a free one",
                .bounds = "none, PORT or HOST:PORT",
                .parse = [this](const std::string& value) -> Status {
                  endpoint_.reset();
                  if (value != "none") {
                    RUDDER_ASSIGN(endpoint_, metrics::parse_endpoint(value));
                  }
                  text_ = value;
                  return {};
                },
                .show = [this] { return text_; },
                .is_switch = false});
}

Result<std::unique_ptr<metrics::Exporter>> MetricsOption::start(std::uint32_t offset,
                                                                const std::string& blas) {
  if (!endpoint_) {
    return std::unique_ptr<metrics::Exporter>();
  }
  metrics::Endpoint endpoint = *endpoint_;
  if (endpoint.port != 0) {
    if (offset > 65535U - endpoint.port) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("--metrics {}: rank {} of this machine would take port {}, the last is 65535",
                               text_, offset, endpoint.port + std::uint64_t{offset})};
    }
    endpoint.port = static_cast<std::uint16_t>(endpoint.port + offset);
  }
  registry_
      .gauge("rudder_build_info", "1; the labels say which program this is",
             {{"version", RUDDER_VERSION}, {"blas", blas}})
      .set(1);
  RUDDER_ASSIGN(std::unique_ptr<metrics::Exporter> exporter, metrics::Exporter::start(registry_, endpoint));
  log_info(fmt::format("metrics at {}", exporter->url()));
  return exporter;
}

}  // namespace rudder::cli

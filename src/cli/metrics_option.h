// SPDX-License-Identifier: Apache-2.0
// --metrics, for the commands that run long.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rudder/core/result.h"
#include "rudder/metrics/exporter.h"
#include "rudder/metrics/registry.h"

#include "cli/option_table.h"

namespace rudder::cli {

/// Lives as long as the table that it was added to.
class MetricsOption {
 public:
  void add_to(OptionTable& table);
  /// Figures for the run to fill in; null when nobody watches.
  [[nodiscard]] metrics::Registry* registry() noexcept { return endpoint_ ? &registry_ : nullptr; }
  /// The same, for a command whose figures can be seen in other ways too.
  [[nodiscard]] metrics::Registry& figures() noexcept { return registry_; }
  /// Opens the port, `offset` above the one that was asked for, and says where; nothing when nobody watches.
  /// What it returns must be destroyed before this. `blas`: kernels in use, empty when they do not matter.
  [[nodiscard]] Result<std::unique_ptr<metrics::Exporter>> start(std::uint32_t offset,
                                                                 const std::string& blas);

 private:
  std::string text_ = "none";
  std::optional<metrics::Endpoint> endpoint_;
  metrics::Registry registry_;
};

}  // namespace rudder::cli

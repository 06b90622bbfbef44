// SPDX-License-Identifier: Apache-2.0
// What simulated time is made of, and the buffers that traces are replayed with.
#pragma once

#include <string>
#include <vector>

#include "rudder/cache/buffer_size.h"
#include "rudder/core/result.h"
#include "rudder/sim/trace_scenario.h"

#include "cli/command.h"
#include "cli/option_table.h"

namespace rudder::cli {

class WorldOptions {
 public:
  WorldOptions();
  void add_to(OptionTable& table);
  [[nodiscard]] Result<sim::TraceWorld> world() const;
  [[nodiscard]] Result<std::vector<cache::BufferSize>> buffers() const;
  /// "link 1Gbit, 0.01 s of compute a step".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Json json() const;

 private:
  std::string buffers_ = "0.05,0.1,0.25,0.5";
  std::string link_ = "1Gbit";
  double link_rate_ = 1e9;
  sim::TraceWorld world_;
};

}  // namespace rudder::cli

// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/clock.h"

#include <thread>

namespace rudder {
namespace {

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
  void sleep_until(TimePoint when) override { std::this_thread::sleep_until(when); }
};

}  // namespace

Clock& steady_clock() {
  static SteadyClock clock;
  return clock;
}

}  // namespace rudder

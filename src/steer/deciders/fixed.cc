// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"

#include "steer/deciders/common.h"

namespace rudder::steer {
namespace {

constexpr std::int64_t kMostPeriod = 1'000'000;

/// MassiveGNN's fixed period, in windows: replaces before window P, 2P, 3P, ... Asked less often than that,
/// it replaces when at least one of them has come since it was asked last.
class Fixed final : public Decider {
 public:
  Fixed(std::uint64_t period, std::size_t skip, std::size_t replace)
      : period_(period), skip_(skip), replace_(replace) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    const std::uint64_t periods = (window.sequence + 1) / period_;
    const bool due = periods > std::exchange(periods_, periods);
    return decision_for(window, due ? replace_ : skip_);
  }

 private:
  std::uint64_t period_;
  std::size_t skip_, replace_;
  std::uint64_t periods_ = 0;  ///< that had passed when it was asked last
};

}  // namespace

DeciderInfo fixed_decider() {
  return {.name = "fixed",
          .argument = "P",
          .help = "replaces every P windows (action set replace)",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            const std::optional<std::int64_t> period = parse_int(context.argument);
            if (!period || *period < 1 || *period > kMostPeriod) {
              return Error{Errc::kInvalidArgument,
                           fmt::format("decider 'fixed:{}': the period is not a whole number in 1..{}",
                                       printable(context.argument), kMostPeriod)};
            }
            RUDDER_ASSIGN(const std::size_t skip, needed_action(context, "fixed", "skip"));
            RUDDER_ASSIGN(const std::size_t replace, needed_action(context, "fixed", "replace"));
            return std::unique_ptr<Decider>(
                std::make_unique<Fixed>(static_cast<std::uint64_t>(*period), skip, replace));
          }};
}

}  // namespace rudder::steer

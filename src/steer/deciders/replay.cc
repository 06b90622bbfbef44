// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/steer/decision_log.h"

#include "steer/deciders/common.h"

namespace rudder::steer {
namespace {

/// Action by the sequence of the window at whose end it was settled.
using Log = std::map<std::uint64_t, std::size_t>;

/// Sets again what a run's decisions.jsonl says was set. Decisions go by windows, so the same windows under
/// the same settings follow.
class Replay final : public Decider {
 public:
  Replay(std::string name, Log log) : name_(std::move(name)), log_(std::move(log)) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    const auto found = log_.find(window.sequence);
    if (found == log_.end()) {
      return Error{Errc::kNotFound,
                   fmt::format("{}: no decision at window {}", printable(name_), window.sequence)};
    }
    return decision_for(window, found->second);
  }

 private:
  std::string name_;
  Log log_;
};

}  // namespace

DeciderInfo replay_decider() {
  return {.name = "replay",
          .argument = "FILE",
          .help = "what a run's decisions.jsonl says was set",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            RUDDER_ASSIGN(const auto decisions, read_decisions(context.argument, *context.actions));
            Log log;
            for (const LoggedDecision& each : decisions) {
              log.emplace_hint(log.end(), each.sequence, each.applied);
            }
            return std::unique_ptr<Decider>(std::make_unique<Replay>(context.argument, std::move(log)));
          }};
}

}  // namespace rudder::steer

// SPDX-License-Identifier: Apache-2.0
#include "steer/deciders/common.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/text.h"

namespace rudder::steer {
namespace {

class Constant final : public Decider {
 public:
  explicit Constant(std::size_t action) : action_(action) {}
  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    return decision_for(window, action_);
  }

 private:
  std::size_t action_;
};

}  // namespace

Decision decision_for(const Window& window, std::size_t action) {
  Decision decision;
  decision.sequence = window.sequence;
  decision.action = action;
  return decision;
}

Result<std::size_t> needed_action(const DeciderContext& context, std::string_view decider,
                                  std::string_view action) {
  const std::size_t found = context.actions->find(action);
  if (found < context.actions->actions.size()) {
    return found;
  }
  std::vector<std::string_view> names;
  for (const Action& each : context.actions->actions) {
    names.push_back(each.name);
  }
  const std::string near = nearest_name(action, names);
  return Error{Errc::kInvalidArgument,
               fmt::format("decider '{}' needs an action '{}', which the action set '{}' has not ({})",
                           decider, printable(action), context.actions->name,
                           near.empty() ? fmt::format("it has {}", fmt::join(names, ", "))
                                        : fmt::format("did you mean '{}'?", near))};
}

std::unique_ptr<Decider> constant_decider(std::size_t action) {
  return std::make_unique<Constant>(action);
}

}  // namespace rudder::steer

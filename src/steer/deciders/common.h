// SPDX-License-Identifier: Apache-2.0
// What several deciders share.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "rudder/core/result.h"
#include "rudder/steer/decider.h"

namespace rudder::steer {

/// Decides on `window` for `action`, surely and without a reason.
[[nodiscard]] Decision decision_for(const Window& window, std::size_t action);
/// Position of an action that `decider` needs; an error that names the set and its actions when it has none.
[[nodiscard]] Result<std::size_t> needed_action(const DeciderContext& context, std::string_view decider,
                                                std::string_view action);
/// A decider that has one answer.
[[nodiscard]] std::unique_ptr<Decider> constant_decider(std::size_t action);
/// Decider `kind` with the trained classifier of that kind in context.classifier.
[[nodiscard]] Result<std::unique_ptr<Decider>> classifier_decider(const DeciderContext& context,
                                                                  std::string_view kind);

}  // namespace rudder::steer

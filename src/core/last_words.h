// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rudder {

/// Writes those of all LastWords. Asks for no memory.
void say_last_words() noexcept;

}  // namespace rudder

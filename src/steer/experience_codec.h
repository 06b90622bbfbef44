// SPDX-License-Identifier: Apache-2.0
// Parts of an experience as bytes and text, and back. Everything read is checked: stores come from anywhere.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/memory.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

/// What Memory::add refuses, in words; empty: nothing.
[[nodiscard]] std::string fault_of(const Experience& experience);

/// Numbers as they lie in memory, little-endian.
[[nodiscard]] std::span<const std::byte> bytes_of(const Features& features);
[[nodiscard]] std::span<const std::byte> bytes_of(const std::vector<double>& costs);
[[nodiscard]] Result<Features> features_of_bytes(std::span<const std::byte> bytes);
[[nodiscard]] Result<std::vector<double>> costs_of_bytes(std::span<const std::byte> bytes);

[[nodiscard]] std::string text_of(const Decision& decision);
[[nodiscard]] Result<Decision> decision_of_text(std::string_view text);
[[nodiscard]] std::string text_of(const Expected& expected);
[[nodiscard]] Result<Expected> expected_of_text(std::string_view text);

}  // namespace rudder::steer

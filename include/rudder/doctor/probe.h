// SPDX-License-Identifier: Apache-2.0
// Gathers what rudder/doctor/checks.h judges. What cannot be read stays unknown.
#pragma once

#include <filesystem>

#include "rudder/doctor/checks.h"

namespace rudder::doctor {

/// `root`: where /proc and /sys are, "/" but for tests.
[[nodiscard]] ProcessorFacts probe_processor(const std::filesystem::path& root);
[[nodiscard]] MemoryFacts probe_memory(const std::filesystem::path& root);
[[nodiscard]] LimitFacts probe_limits();
/// Opens UCX, and makes and removes one host with a shaped link as the demo does. Under a second.
[[nodiscard]] NetworkFacts probe_network();
/// Looks in PATH and asks dpkg-query.
[[nodiscard]] SoftwareFacts probe_software();

}  // namespace rudder::doctor

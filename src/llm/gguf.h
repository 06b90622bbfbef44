// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "rudder/core/result.h"

namespace rudder::llm {

/// Looks at a GGUF file's head: magic, version, byte order, and counts that the file has room for. What
/// follows is for llama.cpp to read. Errors name the file.
[[nodiscard]] Status check_gguf(const std::filesystem::path& file);

}  // namespace rudder::llm

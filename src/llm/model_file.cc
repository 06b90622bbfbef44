// SPDX-License-Identifier: Apache-2.0
#include "rudder/llm/embedded.h"

namespace rudder::llm {

std::filesystem::path bootstrapped_model() {
  return std::filesystem::path(RUDDER_MODELS_FOLDER) / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace rudder::llm

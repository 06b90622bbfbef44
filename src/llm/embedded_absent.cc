// SPDX-License-Identifier: Apache-2.0
// In place of the model in programs that were built without llama.cpp.
#include <fmt/format.h>

#include "rudder/llm/embedded.h"

namespace rudder::llm {

Result<std::unique_ptr<Model>> open_embedded(const EmbeddedOptions& options) {
  return Error{Errc::kUnsupported,
               fmt::format("{}: this program was built without llama.cpp, so it runs no model itself; "
                           "script/bootstrap agent, then configure and build again, or use --endpoint",
                           options.file.string())};
}

}  // namespace rudder::llm

// SPDX-License-Identifier: Apache-2.0
// A model that runs in this process, on llama.cpp (script/bootstrap agent builds it).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "rudder/core/result.h"
#include "rudder/llm/model.h"

namespace rudder::llm {

struct EmbeddedOptions {
  std::filesystem::path file;    ///< GGUF of any model that generates text
  std::uint32_t context = 2048;  ///< tokens of a prompt and its reply together
  /// Jobs whose prompts' beginnings stay computed at once, each with memory for `context` tokens; of more,
  /// the one that has been silent for longest begins anew.
  std::uint32_t jobs = 4;
  /// At least 1. They wait for each other actively: more than one needs a core for each that nobody else
  /// uses, or the model becomes slower by them, many times.
  std::uint32_t threads = 1;
};

/// The model that script/bootstrap agent fetches; the file may be absent.
[[nodiscard]] std::filesystem::path bootstrapped_model();

/// Loads the file and computes a token. Its errors name it: kNotFound, kInvalidData (no model, or a damaged
/// one), kUnsupported (a model of another kind, another processor, or a program built without llama.cpp),
/// kResource. llama.cpp aborts the process on some damaged files; a line on standard error then names the
/// file, too.
///
/// A reply is a function of the request alone: what the cache holds, other jobs and earlier calls do not
/// change a bit of it (on one machine, with one number of threads). Temperature 0 takes the most probable
/// token, ties by number; else tokens are drawn by the request's seed. json_schema without grammar is an
/// error. One call computes at a time.
[[nodiscard]] Result<std::unique_ptr<Model>> open_embedded(const EmbeddedOptions& options);

}  // namespace rudder::llm

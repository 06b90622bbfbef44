// SPDX-License-Identifier: Apache-2.0
// llama.cpp as this program uses it: its messages go to the log, its objects are owned.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "rudder/core/result.h"

struct ggml_threadpool;
struct llama_context;
struct llama_model;
struct llama_sampler;

namespace rudder::llm {

struct LlamaDeleter {
  void operator()(llama_model* model) const;
  void operator()(llama_context* context) const;
  void operator()(llama_sampler* sampler) const;
  void operator()(ggml_threadpool* threads) const;
};
using LlamaModel = std::unique_ptr<llama_model, LlamaDeleter>;
using LlamaContext = std::unique_ptr<llama_context, LlamaDeleter>;
using LlamaSampler = std::unique_ptr<llama_sampler, LlamaDeleter>;
using LlamaThreads = std::unique_ptr<ggml_threadpool, LlamaDeleter>;

/// llama.cpp checks much of what the file holds, and aborts the process on some of it.
[[nodiscard]] Result<LlamaModel> load_llama(const std::filesystem::path& file);

struct ContextShape {
  std::uint32_t tokens = 0;  ///< of one slot
  std::uint32_t slots = 1;
  std::uint32_t chunk = 0;  ///< tokens computed at once
  std::uint32_t threads = 1;
};
/// `abort` is asked, with `data`, between small steps of each computation. Its errors say what llama.cpp
/// said.
[[nodiscard]] Result<LlamaContext> make_llama_context(llama_model& model, const ContextShape& shape,
                                                      bool (*abort)(void*), void* data);
/// Threads that wait without spinning while nothing is computed. Null when they cannot be had.
[[nodiscard]] LlamaThreads make_llama_threads(std::uint32_t count);

}  // namespace rudder::llm

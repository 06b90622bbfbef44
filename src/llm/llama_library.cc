// SPDX-License-Identifier: Apache-2.0
#include "llm/llama_library.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llama.h>
#include <unistd.h>

#include "rudder/core/log.h"
#include "rudder/core/machine.h"
#include "rudder/core/text.h"

#include "llm/gguf.h"

namespace rudder::llm {
namespace {

/// What llama.cpp said first of this thread's failure.
thread_local std::string first_error;

void take_message(ggml_log_level level, const char* text, void*) {
  std::string_view line(text);
  while (line.ends_with('\n')) {
    line.remove_suffix(1);
  }
  if (line.empty()) {
    return;
  }
  if (level == GGML_LOG_LEVEL_ERROR && first_error.empty()) {
    first_error = line;
  }
  log(LogLevel::kDebug, fmt::format("llama.cpp: {}", line));
}

/// Called just before llama.cpp aborts the process.
void say_why_it_aborts(const char* text) {
  const std::string line = fmt::format("rudder: llama.cpp: {}\n", text);
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

void start_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llama_log_set(take_message, nullptr);
    ggml_set_abort_callback(say_why_it_aborts);
    llama_backend_init();
  });
}

/// The library uses the vectors of the processor that it was built on.
Status check_processor() {
#if defined(__x86_64__)
  struct Feature {
    const char* name;
    int used;
    int present;
  };
  const std::array<Feature, 9> features = {{
      {"AVX", ggml_cpu_has_avx(), __builtin_cpu_supports("avx")},
      {"AVX2", ggml_cpu_has_avx2(), __builtin_cpu_supports("avx2")},
      {"BMI2", ggml_cpu_has_bmi2(), __builtin_cpu_supports("bmi2")},
      {"FMA", ggml_cpu_has_fma(), __builtin_cpu_supports("fma")},
      {"AVX512F", ggml_cpu_has_avx512(), __builtin_cpu_supports("avx512f")},
      {"AVX512-VBMI", ggml_cpu_has_avx512_vbmi(), __builtin_cpu_supports("avx512vbmi")},
      {"AVX512-VNNI", ggml_cpu_has_avx512_vnni(), __builtin_cpu_supports("avx512vnni")},
      {"AVX512-BF16", ggml_cpu_has_avx512_bf16(), __builtin_cpu_supports("avx512bf16")},
      {"AVX-VNNI", ggml_cpu_has_avx_vnni(), __builtin_cpu_supports("avxvnni")},
  }};
  for (const Feature& feature : features) {
    if (feature.used != 0 && feature.present == 0) {
      return Error{
          Errc::kUnsupported,
          fmt::format("llama.cpp was built for processors with {}, which this one ({}) lacks; remove "
                      "build/tools/llama, then script/bootstrap agent and a build, on this machine",
                      feature.name, this_machine().processor)};
    }
  }
#endif
  return {};
}

/// "llama_model_load: error loading model: x" → "x".
std::string reason() {
  std::string_view text = first_error;
  for (const std::string_view prefix : {"error loading model: ", ": "}) {
    if (const std::size_t at = text.find(prefix); at != text.npos) {
      text.remove_prefix(at + prefix.size());
      break;
    }
  }
  return text.empty() ? "llama.cpp does not say why" : printable(text.substr(0, 300));
}

}  // namespace

void LlamaDeleter::operator()(llama_model* model) const {
  llama_model_free(model);
}
void LlamaDeleter::operator()(llama_context* context) const {
  llama_free(context);
}
void LlamaDeleter::operator()(llama_sampler* sampler) const {
  llama_sampler_free(sampler);
}
void LlamaDeleter::operator()(ggml_threadpool* threads) const {
  ggml_threadpool_free(threads);
}

Result<LlamaModel> load_llama(const std::filesystem::path& file) {
  RUDDER_TRY(check_gguf(file));
  RUDDER_TRY(check_processor());
  std::error_code ignored;
  const auto size = std::filesystem::file_size(file, ignored);
  if (const std::size_t available = available_memory_bytes(); size > available) {
    return Error{Errc::kResource, fmt::format("{}: {} are more than the {} of memory that are free",
                                              file.string(), human_bytes(static_cast<double>(size)),
                                              human_bytes(static_cast<double>(available)))};
  }
  start_once();
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  first_error.clear();
  LlamaModel model(llama_model_load_from_file(file.c_str(), params));
  if (model == nullptr) {
    return Error{Errc::kInvalidData, fmt::format("{}: cannot be loaded: {}", file.string(), reason())};
  }
  if (!llama_model_has_decoder(model.get()) || llama_model_has_encoder(model.get()) ||
      llama_model_is_diffusion(model.get()) ||
      llama_vocab_type(llama_model_get_vocab(model.get())) == LLAMA_VOCAB_TYPE_NONE) {
    return Error{Errc::kUnsupported,
                 fmt::format("{}: is no model that generates text token by token", file.string())};
  }
  return model;
}

Result<LlamaContext> make_llama_context(llama_model& model, const ContextShape& shape, bool (*abort)(void*),
                                        void* data) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = shape.tokens * shape.slots;
  params.n_seq_max = shape.slots;
  params.n_batch = shape.chunk;
  params.n_ubatch = shape.chunk;
  params.n_threads = static_cast<std::int32_t>(shape.threads);
  params.n_threads_batch = static_cast<std::int32_t>(shape.threads);
  params.abort_callback = abort;
  params.abort_callback_data = data;
  // On processors its rows are computed one by one; as matrices, attention takes a third of the time.
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.no_perf = true;
  first_error.clear();
  LlamaContext context(llama_init_from_model(&model, params));
  if (context == nullptr) {
    return Error{Errc::kResource,
                 fmt::format("no memory for {} times {} tokens: {}", shape.slots, shape.tokens, reason())};
  }
  return context;
}

LlamaThreads make_llama_threads(std::uint32_t count) {
  ggml_threadpool_params params = ggml_threadpool_params_default(static_cast<int>(count));
  params.poll = 0;
  return LlamaThreads(ggml_threadpool_new(&params));
}

}  // namespace rudder::llm

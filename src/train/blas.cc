// SPDX-License-Identifier: Apache-2.0
#include "rudder/train/blas.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <dlfcn.h>

#include "rudder/core/replace_program.h"

#include "train/blas_control.h"

namespace rudder::train {
namespace {

constexpr const char* kCoreType = "OPENBLAS_CORETYPE";
constexpr const char* kRestarted = "RUDDER_BLAS_RESTARTED";  // keeps a refused core type from looping

// x86 kernels of OpenBLAS 0.3.21 without AVX2, by their names in openblas_get_corename().
constexpr std::array<std::string_view, 20> kNarrowKernels = {
    "Katmai",     "Coppermine", "Northwood",   "Prescott",  "Banias",       "Core2",      "Penryn",
    "Dunnington", "Nehalem",    "Athlon",      "Opteron",   "Opteron_SSE3", "Barcelona",  "Nano",
    "Atom",       "Bobcat",     "Sandybridge", "Bulldozer", "Piledriver",   "Steamroller"};

template <class Function>
Function find_symbol(const char* name) noexcept {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

VectorUnit vector_unit() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0) {
    return VectorUnit::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    return VectorUnit::kAvx2;
  }
#endif
  return VectorUnit::kNone;
}

std::string_view better_kernels(VectorUnit unit, std::string_view picked) noexcept {
  if (unit == VectorUnit::kNone || std::ranges::find(kNarrowKernels, picked) == kNarrowKernels.end()) {
    return {};
  }
  return unit == VectorUnit::kAvx512 ? "SkylakeX" : "Haswell";
}

void use_one_blas_thread() noexcept {
  if (auto* set = find_symbol<void (*)(int)>("openblas_set_num_threads")) {
    set(1);
  }
}

std::string blas_kernels() {
  if (auto* core_name = find_symbol<char* (*)()>("openblas_get_corename")) {
    return core_name();
  }
  Dl_info info{};
  void* sgemm = ::dlsym(RTLD_DEFAULT, "sgemm_");
  if (sgemm == nullptr || ::dladdr(sgemm, &info) == 0 || info.dli_fname == nullptr) {
    return "none";
  }
  std::error_code failed;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, failed);
  // Debian keeps the reference implementation in a folder of this name.
  return !failed && library.parent_path().filename() == "blas" ? "reference" : library.filename().string();
}

std::string wider_kernels() {
  return std::string(better_kernels(vector_unit(), blas_kernels()));
}

bool prefer_wide_kernels() {
  if (std::getenv(kCoreType) != nullptr || std::getenv(kRestarted) != nullptr) {
    return false;
  }
  const std::string better = wider_kernels();
  if (better.empty()) {
    return false;
  }
  ::setenv(kCoreType, better.c_str(), 1);
  ::setenv(kRestarted, "1", 1);
  return true;
}

void select_blas_kernels(std::span<const std::string> arguments) {
  if (prefer_wide_kernels()) {
    static_cast<void>(replace_program(this_program(), arguments));
    // Only a failed restart comes here: the program goes on with the slow kernels.
    ::unsetenv(kCoreType);
  }
}

}  // namespace rudder::train

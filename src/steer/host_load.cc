// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/host_load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace rudder::steer {
namespace {

/// Clock ticks since the machine started, summed over its cores.
struct Ticks {
  std::uint64_t all = 0, idle = 0;
};

/// "cpu  user nice system idle iowait irq softirq steal guest guest_nice"; the guests' time is part of the
/// users'. Older kernels write fewer figures, four at least.
std::optional<Ticks> parse_ticks(std::string_view line) noexcept {
  constexpr std::size_t kCounted = 8;
  if (!line.starts_with("cpu ")) {
    return std::nullopt;
  }
  line = line.substr(3, std::min(line.find('\n'), line.size()) - 3);
  Ticks ticks;
  std::size_t figure = 0;
  for (; figure < kCounted && !line.empty(); ++figure) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc()) {
      break;
    }
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    ticks.all += value;
    ticks.idle += figure == 3 || figure == 4 ? value : 0;
  }
  return figure < 4 ? std::nullopt : std::optional(ticks);
}

class ProcessorLoad final : public HostLoad {
 public:
  ProcessorLoad(int fd, const Ticks& first) : fd_(fd), last_(first) {}
  ~ProcessorLoad() override { ::close(fd_); }

  [[nodiscard]] static std::optional<Ticks> read(int fd) noexcept {
    std::array<char, 256> line;
    const ssize_t size = ::pread(fd, line.data(), line.size(), 0);
    return size <= 0 ? std::nullopt : parse_ticks({line.data(), static_cast<std::size_t>(size)});
  }

  [[nodiscard]] std::optional<double> busy() noexcept override {
    const std::optional<Ticks> now = read(fd_);
    if (!now || now->all <= last_.all) {
      return std::nullopt;
    }
    // Time spent waiting for disks may be corrected downwards by the kernel.
    const std::uint64_t idle = now->idle - std::min(last_.idle, now->idle);
    const std::uint64_t all = now->all - last_.all;
    last_ = *now;
    return 1 - static_cast<double>(std::min(idle, all)) / static_cast<double>(all);
  }
  [[nodiscard]] bool device() const noexcept override { return false; }

 private:
  int fd_;
  Ticks last_;
};

/// The five functions of NVML that are used, with its types (nvml.h, stable since version 2 of the names).
struct Nvml {
  struct Utilization {
    unsigned gpu = 0, memory = 0;  ///< percent
  };
  using Device = void*;
  static constexpr int kSuccess = 0;

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*handle)(unsigned index, Device* device) = nullptr;
  int (*utilization)(Device device, Utilization* utilization) = nullptr;
  const char* (*error_text)(int code) = nullptr;
};

class DeviceLoad final : public HostLoad {
 public:
  explicit DeviceLoad(void* library) : library_(library) {}
  ~DeviceLoad() override {
    if (started_) {
      nvml_.shutdown();
    }
    ::dlclose(library_);
  }

  [[nodiscard]] Status start(std::uint32_t index, const std::string& library) {
    const bool complete = resolve("nvmlInit_v2", nvml_.init) && resolve("nvmlShutdown", nvml_.shutdown) &&
                          resolve("nvmlDeviceGetHandleByIndex_v2", nvml_.handle) &&
                          resolve("nvmlDeviceGetUtilizationRates", nvml_.utilization) &&
                          resolve("nvmlErrorString", nvml_.error_text);
    if (!complete) {
      return Error{Errc::kUnsupported, fmt::format("{}: not NVML as it has been since 2012", library)};
    }
    if (const int code = nvml_.init(); code != Nvml::kSuccess) {
      return Error{Errc::kNotFound, fmt::format("{}: {}", library, nvml_.error_text(code))};
    }
    started_ = true;
    Nvml::Utilization unused;
    int code = nvml_.handle(index, &device_);
    code = code == Nvml::kSuccess ? nvml_.utilization(device_, &unused) : code;
    if (code != Nvml::kSuccess) {
      return Error{Errc::kNotFound, fmt::format("{}: device {}: {}", library, index, nvml_.error_text(code))};
    }
    return {};
  }

  [[nodiscard]] std::optional<double> busy() noexcept override {
    Nvml::Utilization now;
    if (nvml_.utilization(device_, &now) != Nvml::kSuccess) {
      return std::nullopt;
    }
    return std::min(now.gpu, 100U) / 100.0;
  }
  [[nodiscard]] bool device() const noexcept override { return true; }

 private:
  template <class Function>
  bool resolve(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library_, name));
    return function != nullptr;
  }

  void* library_;
  Nvml nvml_;
  Nvml::Device device_ = nullptr;
  bool started_ = false;
};

}  // namespace

Result<std::unique_ptr<HostLoad>> processor_load(const std::filesystem::path& stat) {
  const int fd = ::open(stat.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Error{Errc::kIo, fmt::format("{}: {}", stat.string(), std::generic_category().message(errno))};
  }
  const std::optional<Ticks> first = ProcessorLoad::read(fd);
  if (!first) {
    ::close(fd);
    return Error{Errc::kInvalidData, fmt::format("{}: no line of processor times", stat.string())};
  }
  return std::unique_ptr<HostLoad>(std::make_unique<ProcessorLoad>(fd, *first));
}

Result<std::unique_ptr<HostLoad>> device_load(std::uint32_t index, const std::string& library) {
  void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    const char* const reason = ::dlerror();
    return Error{Errc::kNotFound, reason == nullptr ? library + ": cannot be loaded" : std::string(reason)};
  }
  auto load = std::make_unique<DeviceLoad>(loaded);
  RUDDER_TRY(load->start(index, library));
  return std::unique_ptr<HostLoad>(std::move(load));
}

}  // namespace rudder::steer

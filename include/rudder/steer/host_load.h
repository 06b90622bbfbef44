// SPDX-License-Identifier: Apache-2.0
// How busy the host is that trains: its processor, or its accelerator where it has one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "rudder/core/result.h"

namespace rudder::steer {

/// Not thread-safe; allocates nothing once made.
class HostLoad {
 public:
  HostLoad() = default;
  HostLoad(const HostLoad&) = delete;
  HostLoad& operator=(const HostLoad&) = delete;
  virtual ~HostLoad() = default;

  /// Share in use lately, 0 to 1: of the processor since the call before (or since it was made), of a device
  /// during the driver's last sampling period. Nothing when it cannot be read, or when no tick of the
  /// kernel's clock passed since the call before.
  [[nodiscard]] virtual std::optional<double> busy() noexcept = 0;
  /// Whether busy() is of a device.
  [[nodiscard]] virtual bool device() const noexcept = 0;
};

/// All cores of the machine, by the first line of the kernel's `stat` file.
[[nodiscard]] Result<std::unique_ptr<HostLoad>> processor_load(
    const std::filesystem::path& stat = "/proc/stat");
/// One NVIDIA device, by the driver's management library, which is loaded here. kNotFound when there is no
/// such library or device.
[[nodiscard]] Result<std::unique_ptr<HostLoad>> device_load(std::uint32_t index,
                                                            const std::string& library = "libnvidia-ml.so.1");

}  // namespace rudder::steer

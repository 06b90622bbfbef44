// SPDX-License-Identifier: Apache-2.0
// What a machine's figures mean for training. Pure functions: rudder/doctor/probe.h gathers the figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/doctor/finding.h"
#include "rudder/doctor/system_files.h"

namespace rudder::doctor {

struct ProcessorFacts {
  std::string model = {};
  std::size_t online = 1;                 ///< hardware threads that are on
  std::size_t allowed = 1;                ///< that this process may run on
  std::optional<std::size_t> cores = {};  ///< nothing: unknown
  std::optional<double> quota = {};       ///< processors' time of the control group; nothing: no limit
  std::string clock_source = {};          ///< empty: unknown
};

struct MemoryFacts {
  std::uint64_t total = 0, available = 0;         ///< bytes
  std::optional<std::uint64_t> group_limit = {};  ///< of the control group
  std::string transparent_huge_pages = {};        ///< always, madvise, never; empty: unknown
  std::uint64_t huge_pages = 0, huge_page_bytes = 0;
};

/// Of the file system that holds a folder, bytes.
struct Space {
  std::uint64_t size = 0, free = 0;
};

struct LimitFacts {
  std::optional<Space> shared_memory = {};  ///< /dev/shm; nothing: not there
  Status memfd;                             ///< making, sealing and mapping shared memory without a name
  std::optional<std::uint64_t> locked_bytes = {};  ///< RLIMIT_MEMLOCK; nothing: no limit
  std::uint64_t descriptors = 0;                   ///< the most that RLIMIT_NOFILE can be raised to
  std::string temporary_folder = {};
  std::optional<Space> temporary = {};  ///< nothing: not there, or not writable
};

struct NetworkFacts {
  Result<std::vector<std::string>> transports =
      std::vector<std::string>();  ///< "tcp/eth0", as UCX names them
  Status namespaces;               ///< whether they can be made
  Status shaping;                  ///< whether their links can be shaped; only where namespaces can be made
};

/// The library of matrix products as training would use it.
struct BlasFacts {
  std::string kernels = {};  ///< as train::blas_kernels() names them
  std::string wider = {};    ///< kernels that this processor could use instead; empty: none
};

struct SoftwareFacts {
  std::map<std::string, bool> commands = {};  ///< name → found in PATH
  std::map<std::string, std::vector<std::string>> package_sets = {};
  std::optional<std::set<std::string>> installed = {};  ///< nothing: no Debian system
};

[[nodiscard]] Findings check_processor(const ProcessorFacts& facts);
[[nodiscard]] Findings check_memory(const MemoryFacts& facts);
[[nodiscard]] Findings check_limits(const LimitFacts& facts, bool remote_memory_access);
[[nodiscard]] Findings check_network(const NetworkFacts& facts);
[[nodiscard]] Finding check_blas(const BlasFacts& facts);
[[nodiscard]] Findings check_software(const SoftwareFacts& facts);

/// Whether one of UCX's transports reads and writes remote memory (InfiniBand, RoCE).
[[nodiscard]] bool has_remote_memory_access(const std::vector<std::string>& transports);

}  // namespace rudder::doctor

// SPDX-License-Identifier: Apache-2.0
// Texts that the kernel and tools write, as numbers. Containers and odd kernels leave out or replace any of
// them, so every parser takes any text and says "unknown" instead of guessing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rudder::doctor {

/// A small file of /proc or /sys (their sizes read 0), its first 4 MiB; nothing when it cannot be read.
[[nodiscard]] std::optional<std::string> read_system_file(const std::filesystem::path& path);

/// Distinct cores in /proc/cpuinfo; nothing where it does not tell them (not x86).
[[nodiscard]] std::optional<std::size_t> count_cores(std::string_view cpuinfo);
/// Processors in a list such as "0-3,8"; nothing for anything else.
[[nodiscard]] std::optional<std::size_t> count_listed(std::string_view list);
/// The line "NAME:  123 kB" or "NAME: 5" of /proc/meminfo, in bytes or as it stands.
[[nodiscard]] std::optional<std::uint64_t> meminfo_value(std::string_view meminfo, std::string_view name);
/// "always [madvise] never" → "madvise"; empty when nothing is selected.
[[nodiscard]] std::string selected_word(std::string_view text);
/// cpu.max of cgroup v2, "50000 100000" → 0.5 processors; nothing for "max" and what is no such pair.
[[nodiscard]] std::optional<double> quota_of_cpu_max(std::string_view text);
/// cpu.cfs_quota_us and cpu.cfs_period_us of cgroup v1.
[[nodiscard]] std::optional<double> quota_of_cfs(std::string_view quota, std::string_view period);
/// memory.max or memory.limit_in_bytes; nothing for "max" and for v1's word for none (near 2^63).
[[nodiscard]] std::optional<std::uint64_t> memory_limit(std::string_view text);

/// The tightest limits of a process's control groups, from its own up to the root of the hierarchy.
struct CgroupLimits {
  std::optional<double> processors;
  std::optional<std::uint64_t> memory_bytes;
};
/// Reads /proc/self/cgroup and /sys/fs/cgroup below `root` ("/" but for tests); v1, v2 or both.
[[nodiscard]] CgroupLimits read_cgroup_limits(const std::filesystem::path& root);

/// The arrays of script/bootstrap, by name: "build=(cmake g++ …)".
[[nodiscard]] std::map<std::string, std::vector<std::string>> bootstrap_packages(std::string_view script);
/// Names in the output of dpkg-query -W -f '${Package} ${db:Status-Status}\n' that are installed.
[[nodiscard]] std::set<std::string> installed_packages(std::string_view listing);

}  // namespace rudder::doctor

// SPDX-License-Identifier: Apache-2.0
#include "rudder/doctor/probe.h"

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "rudder/core/clock.h"
#include "rudder/core/files.h"
#include "rudder/core/machine.h"
#include "rudder/launch/network.h"
#include "rudder/launch/process.h"
#include "rudder/transport/ucx_resources.h"

#include "doctor/bootstrap_script.h"

namespace rudder::doctor {
namespace {

constexpr double kTrialBitsPerSecond = 100e6;

std::string first_line(const std::filesystem::path& path) {
  const std::string text = read_system_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

std::size_t allowed_processors() {
  // Machines with more processors than a cpu_set_t holds refuse the call.
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set))
                                                       : std::size_t{1};
}

Error errno_error(std::string_view what) {
  return {Errc::kIo, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

std::optional<Space> space_of(const char* folder) {
  struct statvfs figures {};
  if (::access(folder, W_OK | X_OK) != 0 || ::statvfs(folder, &figures) != 0) {
    return std::nullopt;
  }
  return Space{.size = std::uint64_t{figures.f_blocks} * figures.f_frsize,
               .free = std::uint64_t{figures.f_bavail} * figures.f_frsize};
}

/// As a host's buffer is made: sized, sealed against shrinking, written through one mapping, read through
/// another that cannot write.
Status try_memfd() {
  constexpr std::size_t kBytes = 4096;
  const int fd = ::memfd_create("rudder-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) {
    return errno_error("memfd_create");
  }
  Status result;
  if (::ftruncate(fd, kBytes) != 0 || ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    result = errno_error("sealing a memfd");
  } else {
    void* writable = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void* readable = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
    if (writable == MAP_FAILED || readable == MAP_FAILED) {
      result = errno_error("mapping a memfd");
    } else {
      static_cast<volatile char*>(writable)[1] = 7;
      if (static_cast<volatile const char*>(readable)[1] != 7) {
        result = Error{Errc::kInternal, "two mappings of a memfd differ"};
      }
    }
    for (void* mapping : {writable, readable}) {
      if (mapping != MAP_FAILED) {
        ::munmap(mapping, kBytes);
      }
    }
  }
  ::close(fd);
  return result;
}

bool in_path(const std::string& command) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder.empty() ? "." : folder) / command;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

ProcessorFacts probe_processor(const std::filesystem::path& root) {
  ProcessorFacts facts;
  facts.model = this_machine().processor;
  facts.allowed = allowed_processors();
  facts.online = count_listed(read_system_file(root / "sys/devices/system/cpu/online").value_or(""))
                     .value_or(facts.allowed);
  facts.cores = count_cores(read_system_file(root / "proc/cpuinfo").value_or(""));
  facts.quota = read_cgroup_limits(root).processors;
  facts.clock_source = first_line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  return facts;
}

MemoryFacts probe_memory(const std::filesystem::path& root) {
  const std::string meminfo = read_system_file(root / "proc/meminfo").value_or("");
  MemoryFacts facts;
  facts.total = meminfo_value(meminfo, "MemTotal").value_or(0);
  facts.available = meminfo_value(meminfo, "MemAvailable").value_or(0);
  facts.huge_pages = meminfo_value(meminfo, "HugePages_Total").value_or(0);
  facts.huge_page_bytes = meminfo_value(meminfo, "Hugepagesize").value_or(0);
  facts.group_limit = read_cgroup_limits(root).memory_bytes;
  facts.transparent_huge_pages =
      selected_word(read_system_file(root / "sys/kernel/mm/transparent_hugepage/enabled").value_or(""));
  return facts;
}

LimitFacts probe_limits() {
  LimitFacts facts;
  facts.shared_memory = space_of("/dev/shm");
  facts.memfd = try_memfd();
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_max != RLIM_INFINITY) {
    facts.locked_bytes = limit.rlim_max;
  }
  facts.descriptors = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::uint64_t{limit.rlim_max} : 0;
  std::error_code failed;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(failed);
  facts.temporary_folder = failed ? "the folder that TMPDIR names" : temporary.string();
  facts.temporary = failed ? std::nullopt : space_of(temporary.c_str());
  return facts;
}

NetworkFacts probe_network() {
  NetworkFacts facts;
  facts.transports = transport::ucx_resources();
  facts.namespaces = launch::can_make_network();
  if (facts.namespaces.ok()) {
    const auto network = launch::VirtualNetwork::create(1, kTrialBitsPerSecond);
    facts.shaping = network.ok() ? Status() : Status(network.error());
  }
  return facts;
}

SoftwareFacts probe_software() {
  SoftwareFacts facts;
  for (const char* command : {"srun", "sbatch", "scontrol", "mpirun", "ssh"}) {
    facts.commands[command] = in_path(command);
  }
  facts.package_sets = bootstrap_packages(kBootstrapScript);
  if (in_path("dpkg-query")) {
    const auto listing = launch::run_and_capture(
        {"dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n"}, from_seconds(10));
    if (listing.ok()) {
      facts.installed = installed_packages(listing.value());
    }
  }
  return facts;
}

}  // namespace rudder::doctor

// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/machine.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

namespace rudder {
namespace {

std::size_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
  return cache != nullptr ? static_cast<std::size_t>(cache->attr->cache.size) : 0;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      return colon == std::string::npos ? line : line.substr(colon + 2);
    }
  }
  return "unknown";
}

/// A line "NAME:   123 kB" of a /proc file, in bytes; 0 when absent.
std::size_t proc_kilobytes(const char* path, std::string_view name) {
  std::ifstream file(path);
  std::string key;
  std::size_t value = 0;
  std::string rest;
  while (file >> key) {
    if (key == name && file >> value) {
      return value * 1024;
    }
    std::getline(file, rest);
  }
  return 0;
}

Machine read_machine() {
  Machine machine;
  machine.processor = processor_name();
  cpu_set_t set;
  CPU_ZERO(&set);
  machine.cores =
      ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set)) : 1;
  machine.memory_bytes = proc_kilobytes("/proc/meminfo", "MemTotal:");
  utsname system{};
  if (::uname(&system) == 0) {
    machine.kernel = std::string(system.sysname) + " " + system.release;
  }
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) == 0) {
    if (hwloc_topology_load(topology) == 0) {
      machine.cache_l2_bytes = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
      machine.cache_l3_bytes = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
    }
    hwloc_topology_destroy(topology);
  }
  return machine;
}

}  // namespace

const Machine& this_machine() {
  static const Machine machine = read_machine();
  return machine;
}

std::size_t available_memory_bytes() {
  return proc_kilobytes("/proc/meminfo", "MemAvailable:");
}

std::size_t peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

void name_this_thread(std::string_view name) {
  const std::string cut(name.substr(0, 15));
  ::pthread_setname_np(::pthread_self(), cut.c_str());
}

Status pin_this_thread(std::span<const int> processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) {
    if (processor < 0 || processor >= CPU_SETSIZE) {
      return Error{Errc::kInvalidArgument, fmt::format("no processor {} here", processor)};
    }
    CPU_SET(static_cast<std::size_t>(processor), &set);
  }
  // The system leaves out those that this process may not use.
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_setaffinity(0, sizeof set, &set) != 0 ||
      ::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_EQUAL(&set, &allowed) == 0) {
    return Error{Errc::kInvalidArgument, fmt::format("this process may not use all of the processors {}",
                                                     fmt::join(processors, ","))};
  }
  return {};
}

Status run_this_thread_when_idle() {
  const sched_param none{};
  if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0) {
    return Error{Errc::kIo, "scheduling when idle: " + std::generic_category().message(errno)};
  }
  return {};
}

}  // namespace rudder

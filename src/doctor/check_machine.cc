// SPDX-License-Identifier: Apache-2.0
// Processor, memory and limits.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/doctor/checks.h"

namespace rudder::doctor {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string bytes_text(std::uint64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

Finding check_cores(const ProcessorFacts& facts) {
  Finding finding{
      .name = "cores",
      .value = fmt::format("{} of {} hardware threads{}; {}", facts.allowed, facts.online,
                           facts.cores ? fmt::format(" on {} cores", *facts.cores) : "", facts.model),
      .why =
          "sampling, kernels and the data plane each want a thread; hyper-threads share one "
          "core's arithmetic"};
  if (facts.allowed < facts.online) {
    finding.verdict = Verdict::kWarning;
    finding.remedy =
        "start without taskset, or ask the scheduler for more (srun --cpus-per-task); set "
        "--threads to what is there";
  } else if (facts.allowed < 2) {
    finding.verdict = Verdict::kWarning;
    finding.remedy = "a machine with two or more cores: with one, nothing overlaps";
  }
  return finding;
}

Finding check_quota(const ProcessorFacts& facts) {
  Finding finding{.name = "processor quota",
                  .value = facts.quota ? fmt::format("{:.2f} processors' time", *facts.quota) : "no limit",
                  .why =
                      "a group over its quota is stopped for the rest of a 0.1 s period: all ranks then "
                      "wait for this one's gradients"};
  if (facts.quota && *facts.quota < static_cast<double>(facts.allowed)) {
    finding.verdict = Verdict::kWarning;
    finding.remedy =
        fmt::format("raise the container's limit (docker --cpus, systemd CPUQuota=), or --threads {}",
                    std::max(1, static_cast<int>(std::min(*facts.quota, 1e6))));
  }
  return finding;
}

Finding check_clock(const ProcessorFacts& facts) {
  Finding finding{.name = "time source",
                  .value = facts.clock_source.empty() ? "unknown" : facts.clock_source,
                  .why =
                      "every step and request reads the clock; tsc, kvm-clock and ARM's counter take "
                      "20 ns, hpet and acpi_pm over 1 us"};
  if (facts.clock_source == "hpet" || facts.clock_source == "acpi_pm" || facts.clock_source == "jiffies") {
    finding.verdict = Verdict::kWarning;
    finding.remedy =
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, when "
        "available_clocksource lists it";
  }
  return finding;
}

Finding check_huge_pages(const MemoryFacts& facts) {
  Finding finding{
      .name = "huge pages",
      .value = fmt::format("transparent: {}; reserved: {} of {}",
                           facts.transparent_huge_pages.empty() ? "unknown" : facts.transparent_huge_pages,
                           facts.huge_pages, bytes_text(facts.huge_page_bytes)),
      .why =
          "rows are gathered from random places of large arrays; huge pages save address "
          "look-ups"};
  if (facts.transparent_huge_pages == "never") {
    finding.verdict = Verdict::kWarning;
    finding.remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  return finding;
}

Finding check_shared_memory(const LimitFacts& facts) {
  Finding finding{.name = "/dev/shm",
                  .value = "not there",
                  .why = "UCX moves rows between ranks of one machine through it",
                  .remedy = "mount -o remount,size=8G /dev/shm; in containers docker run --shm-size=8g"};
  if (!facts.shared_memory || facts.shared_memory->size < 16 * kMiB) {
    finding.verdict = Verdict::kFailure;
  } else if (facts.shared_memory->free < 256 * kMiB) {
    finding.verdict = Verdict::kWarning;
  } else {
    finding.remedy.clear();
  }
  if (facts.shared_memory) {
    finding.value = fmt::format("{} free of {}", bytes_text(facts.shared_memory->free),
                                bytes_text(facts.shared_memory->size));
  }
  return finding;
}

Finding check_memfd(const LimitFacts& facts) {
  Finding finding{.name = "memfd",
                  .value = facts.memfd.ok() ? "made, sealed and mapped" : facts.memfd.error().message,
                  .why = "shared memory without a name carries the buffer that trainers of one host share"};
  if (!facts.memfd.ok()) {
    finding.verdict = Verdict::kFailure;
    finding.remedy =
        "a kernel from 3.17 on whose sandbox allows memfd_create (docker run --security-opt "
        "seccomp=unconfined)";
  }
  return finding;
}

Finding check_locked(const LimitFacts& facts, bool remote_memory_access) {
  Finding finding{.name = "locked memory",
                  .value = facts.locked_bytes ? "at most " + bytes_text(*facts.locked_bytes) : "no limit",
                  .why = "network cards that read memory themselves need it locked"};
  if (!remote_memory_access) {
    finding.value += "; not needed, no such card is in use";
  } else if (facts.locked_bytes && *facts.locked_bytes < kGiB) {
    finding.verdict = Verdict::kWarning;
    finding.remedy = "ulimit -l unlimited; for good: '* - memlock unlimited' in /etc/security/limits.conf";
  }
  return finding;
}

Finding check_descriptors(const LimitFacts& facts) {
  // As the trainer wants them: 40 and 8 a rank.
  const std::uint64_t ranks = facts.descriptors < 48 ? 0 : (facts.descriptors - 40) / 8;
  Finding finding{.name = "open files",
                  .value = fmt::format("at most {}: runs of up to {} ranks", facts.descriptors, ranks),
                  .why = "each peer takes connections of UCX and of the gradients' network"};
  if (ranks < 64) {
    finding.verdict = ranks == 0 ? Verdict::kFailure : Verdict::kWarning;
    finding.remedy = "ulimit -n 4096; for good: '* - nofile 4096' in /etc/security/limits.conf";
  }
  return finding;
}

Finding check_temporary(const LimitFacts& facts) {
  Finding finding{.name = "temporary files",
                  .value = facts.temporary_folder + ": not there or not writable",
                  .why = "the demo keeps its graph and its partition there"};
  if (!facts.temporary) {
    finding.verdict = Verdict::kFailure;
  } else {
    finding.value = fmt::format("{}: {} free", facts.temporary_folder, bytes_text(facts.temporary->free));
    if (facts.temporary->free < kGiB) {
      finding.verdict = Verdict::kWarning;
    }
  }
  if (finding.verdict != Verdict::kOk) {
    finding.remedy = "make room, or set TMPDIR to a writable folder with 1 GiB";
  }
  return finding;
}

}  // namespace

Findings check_processor(const ProcessorFacts& facts) {
  return {check_cores(facts), check_quota(facts), check_clock(facts)};
}

Findings check_memory(const MemoryFacts& facts) {
  Finding memory{
      .name = "memory",
      .value = fmt::format("{} available of {}", bytes_text(facts.available), bytes_text(facts.total)),
      .why = "graph, features of the part, buffer and model live in it"};
  if (facts.available < kGiB) {
    memory.verdict = Verdict::kWarning;
    memory.remedy = "end other programs, or more parts on more machines (rudder partition --parts)";
  }
  Finding group{.name = "memory limit",
                .value = facts.group_limit ? bytes_text(*facts.group_limit) : "no limit",
                .why = "the kernel kills a rank whose control group exceeds it"};
  if (facts.group_limit && *facts.group_limit < kGiB) {
    group.verdict = Verdict::kWarning;
    group.remedy = "raise the container's limit (docker --memory, srun --mem, systemd MemoryMax=)";
  }
  return {memory, group, check_huge_pages(facts)};
}

Findings check_limits(const LimitFacts& facts, bool remote_memory_access) {
  return {check_shared_memory(facts), check_memfd(facts), check_locked(facts, remote_memory_access),
          check_descriptors(facts), check_temporary(facts)};
}

}  // namespace rudder::doctor

// SPDX-License-Identifier: Apache-2.0
#include "rudder/doctor/system_files.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::doctor {
namespace {

constexpr std::size_t kLargestFile = std::size_t{4} << 20;
constexpr std::int64_t kMostProcessors = 1 << 20;
/// cgroup v1 rounds "no limit" down to a page below 2^63.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// Up to the separator, which goes too.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trim(text); !text.empty(); text = trim(text)) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

template <class Number>
void keep_smaller(std::optional<Number>& kept, const std::optional<Number>& other) {
  if (other && (!kept || *other < *kept)) {
    kept = other;
  }
}

std::string text_or_empty(const std::filesystem::path& path) {
  return read_system_file(path).value_or("");
}

/// Folders from `group` up to `mount`, which a container may see as its own group whatever the path says.
template <class Visit>
void for_each_level(const std::filesystem::path& mount, std::filesystem::path group, const Visit& visit) {
  group = group.relative_path().lexically_normal();
  while (!group.empty() && group != "." && *group.begin() != "..") {
    visit(mount / group);
    group = group.parent_path();
  }
  visit(mount);
}

}  // namespace

std::optional<std::string> read_system_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestFile, '\0');
  if (!file || (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && file.bad())) {
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::optional<std::size_t> count_cores(std::string_view cpuinfo) {
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  std::int64_t package = 0;
  while (!cpuinfo.empty()) {
    std::string_view line = take_until(cpuinfo, '\n');
    const std::string_view key = trim(take_until(line, ':'));
    const std::int64_t number = parse_int(trim(line)).value_or(-1);
    if (key == "physical id") {
      package = number;
    } else if (key == "core id" && number >= 0) {
      cores.emplace(package, number);
    }
  }
  return cores.empty() ? std::nullopt : std::optional(cores.size());
}

std::optional<std::size_t> count_listed(std::string_view list) {
  list = trim(list);
  std::size_t count = 0;
  for (bool more = true; more;) {
    more = list.find(',') != list.npos;
    const std::string_view range = take_until(list, ',');
    const std::size_t dash = range.find('-');
    const std::optional<std::int64_t> first = parse_int(range.substr(0, dash));
    const std::optional<std::int64_t> last = dash == range.npos ? first : parse_int(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostProcessors) {
      return std::nullopt;
    }
    count += static_cast<std::size_t>(*last - *first + 1);
  }
  return count;
}

std::optional<std::uint64_t> meminfo_value(std::string_view meminfo, std::string_view name) {
  while (!meminfo.empty()) {
    std::string_view line = take_until(meminfo, '\n');
    if (trim(take_until(line, ':')) != name) {
      continue;
    }
    const std::vector<std::string_view> words = words_of(line);
    const std::int64_t number = words.empty() ? -1 : parse_int(words[0]).value_or(-1);
    const bool kilobytes = words.size() == 2 && words[1] == "kB";
    if (number < 0 || number > kNoLimit / 1024 || (words.size() != 1 && !kilobytes)) {
      return std::nullopt;
    }
    return static_cast<std::uint64_t>(number) * (kilobytes ? 1024U : 1U);
  }
  return std::nullopt;
}

std::string selected_word(std::string_view text) {
  for (const std::string_view word : words_of(text)) {
    if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
      return std::string(word.substr(1, word.size() - 2));
    }
  }
  return {};
}

std::optional<double> quota_of_cfs(std::string_view quota, std::string_view period) {
  const std::optional<std::int64_t> allowed = parse_int(trim(quota));
  const std::optional<std::int64_t> of = parse_int(trim(period));
  if (!allowed || !of || *allowed <= 0 || *of <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(*allowed) / static_cast<double>(*of);
}

std::optional<double> quota_of_cpu_max(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  return words.size() == 2 ? quota_of_cfs(words[0], words[1]) : std::nullopt;
}

std::optional<std::uint64_t> memory_limit(std::string_view text) {
  const std::optional<std::int64_t> bytes = parse_int(trim(text));
  if (!bytes || *bytes < 0 || *bytes >= kNoLimit) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(*bytes);
}

CgroupLimits read_cgroup_limits(const std::filesystem::path& root) {
  CgroupLimits limits;
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  const std::string groups = text_or_empty(root / "proc/self/cgroup");
  for (std::string_view rest = groups; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view hierarchy = take_until(line, ':');
    const std::string controllers = fmt::format(",{},", take_until(line, ':'));
    const std::filesystem::path group(line);
    if (hierarchy == "0" && controllers == ",,") {
      for_each_level(mount, group, [&](const std::filesystem::path& folder) {
        keep_smaller(limits.processors, quota_of_cpu_max(text_or_empty(folder / "cpu.max")));
        keep_smaller(limits.memory_bytes, memory_limit(text_or_empty(folder / "memory.max")));
      });
    }
    if (controllers.find(",cpu,") != std::string::npos) {
      for_each_level(mount / "cpu", group, [&](const std::filesystem::path& folder) {
        keep_smaller(limits.processors, quota_of_cfs(text_or_empty(folder / "cpu.cfs_quota_us"),
                                                     text_or_empty(folder / "cpu.cfs_period_us")));
      });
    }
    if (controllers.find(",memory,") != std::string::npos) {
      for_each_level(mount / "memory", group, [&](const std::filesystem::path& folder) {
        keep_smaller(limits.memory_bytes, memory_limit(text_or_empty(folder / "memory.limit_in_bytes")));
      });
    }
  }
  return limits;
}

std::map<std::string, std::vector<std::string>> bootstrap_packages(std::string_view script) {
  std::map<std::string, std::vector<std::string>> sets;
  for (std::size_t open = script.find("=("); open != std::string_view::npos; open = script.find("=(")) {
    const std::string_view before = script.substr(0, open);
    const std::string_view name = before.substr(before.find_last_of('\n') + 1);
    script.remove_prefix(open + 2);
    const std::string_view body = take_until(script, ')');
    const bool is_name = !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == name.npos;
    const bool is_literal = body.find_first_of("$\"'`(") == body.npos;
    if (is_name && is_literal) {
      for (const std::string_view word : words_of(body)) {
        sets[std::string(name)].emplace_back(word);
      }
    }
  }
  return sets;
}

std::set<std::string> installed_packages(std::string_view listing) {
  std::set<std::string> names;
  while (!listing.empty()) {
    const std::vector<std::string_view> words = words_of(take_until(listing, '\n'));
    if (words.size() == 2 && words[1] == "installed") {
      names.emplace(words[0]);
    }
  }
  return names;
}

}  // namespace rudder::doctor

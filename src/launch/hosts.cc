// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/hosts.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/text.h"

namespace rudder::launch {
namespace {

constexpr std::size_t kLongestName = 255;

bool is_name(std::string_view text, std::string_view others) {
  return !text.empty() && text.size() <= kLongestName && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  others.find(c) != std::string_view::npos;
         });
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  for (std::size_t start = line.find_first_not_of(kBlanks); start != std::string_view::npos;
       start = line.find_first_not_of(kBlanks, start)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = end;
  }
  return words;
}

/// A message shows no more than this of what a file holds.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return printable(text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...");
}

/// "slots=2" or "address=10.0.0.1" into the host; what is wrong otherwise.
std::string take_word(std::string_view word, HostEntry& host, bool& has_slots) {
  const std::size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
  if (key == "slots" && !has_slots) {
    const auto slots = parse_int(value);
    if (!slots || *slots < 1 || *slots > std::int64_t{kMostRanks}) {
      return fmt::format("slots '{}' is not a number from 1 to {}", shown(value), kMostRanks);
    }
    host.slots = static_cast<Rank>(*slots);
    has_slots = true;
    return {};
  }
  if (key == "address" && host.address.empty()) {
    if (!is_name(value, "._-:%")) {
      return fmt::format("address '{}' is neither a name nor an address", shown(value));
    }
    host.address = value;
    return {};
  }
  if (key == "slots" || key == "address") {
    return fmt::format("{} a second time", key);
  }
  return fmt::format("'{}' is unknown; a line is NAME [slots=N] [address=ADDRESS]", shown(word));
}

}  // namespace

Result<std::vector<HostEntry>> parse_hosts(std::string_view text, const std::string& origin) {
  std::vector<HostEntry> hosts;
  std::map<std::string_view, std::size_t> line_of;
  std::uint64_t slots = 0;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto wrong = [&](const std::string& what) {
      return Error{Errc::kInvalidArgument, fmt::format("{}, line {}: {}", origin, number, what)};
    };
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) {
      continue;
    }
    if (!is_name(words[0], "._-:%@") || !is_name(bare_name(words[0]), "._-:%")) {
      return wrong(fmt::format("'{}' is not a host's name", shown(words[0])));
    }
    HostEntry host;
    host.name = words[0];
    if (const auto [first, added] = line_of.emplace(words[0], number); !added) {
      return wrong(fmt::format("host {} was in line {} already", shown(words[0]), first->second));
    }
    bool has_slots = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (const std::string problem = take_word(words[i], host, has_slots); !problem.empty()) {
        return wrong(problem);
      }
    }
    slots += host.slots;
    if (slots > kMostRanks) {
      return wrong(fmt::format("more than {} slots in all", kMostRanks));
    }
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) {
    return Error{Errc::kInvalidArgument, origin + ": no host in it"};
  }
  return hosts;
}

Rank slots_of(std::span<const HostEntry> hosts) noexcept {
  Rank sum = 0;
  for (const HostEntry& host : hosts) {
    sum += host.slots;
  }
  return sum;
}

std::vector<RankRange> spread_ranks(std::span<const HostEntry> hosts, Rank ranks) {
  RUDDER_CHECK(!hosts.empty(), "ranks need a host");
  const Rank slots = slots_of(hosts);
  const Rank surplus = ranks > slots ? ranks - slots : 0;
  const auto count = static_cast<Rank>(hosts.size());
  std::vector<RankRange> ranges;
  Rank next = 0;
  for (Rank i = 0; i < count; ++i) {
    const Rank more = surplus / count + (i < surplus % count ? 1 : 0);
    const Rank mine = std::min(hosts[i].slots + more, ranks - next);
    ranges.push_back({next, mine});
    next += mine;
  }
  return ranges;
}

std::string_view bare_name(std::string_view name) noexcept {
  return name.substr(name.rfind('@') + 1);  // npos + 1 is 0
}

}  // namespace rudder::launch

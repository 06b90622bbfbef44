// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/steer/action.h"

namespace rudder::steer {
namespace {

Status check_bounds(const KnobBounds& bounds) {
  for (const std::string& name : bounds.policies) {
    RUDDER_ASSIGN(const cache::PolicyInfo* const policy, cache::find_policy(name));
    if (!policy->live || !policy->overlapped) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("policy '{}' cannot be steered: it {}", name,
                               policy->live ? "fetches nothing ahead" : "needs the whole trace")};
    }
  }
  for (const std::uint32_t depth : bounds.depths) {
    if (depth < 1 || depth > 1024) {
      return Error{Errc::kInvalidArgument, fmt::format("depth {} is not within 1..1024", depth)};
    }
  }
  for (const double rate : bounds.prefetch_bytes_per_second) {
    if (!(rate >= 0) || rate > 1e15) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("prefetch rate {} is not within 0..1e15 bytes/s", rate)};
    }
  }
  for (const double share : bounds.slot_shares) {
    if (!(share > 0 && share <= 1)) {
      return Error{Errc::kInvalidArgument, fmt::format("slot share {} is not within (0, 1]", share)};
    }
  }
  return {};
}

Status check_combinations(const KnobBounds& bounds) {
  double combinations = 1;
  for (const std::size_t values : {bounds.policies.size(), bounds.depths.size(),
                                   bounds.prefetch_bytes_per_second.size(), bounds.slot_shares.size()}) {
    combinations *= static_cast<double>(values);
  }
  if (combinations < 2 || combinations > kMaxActions) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("{:.0f} combinations of knobs; from 2 to {} can be steered", combinations, kMaxActions)};
  }
  return {};
}

/// "lru-depth4-rate2000k-slots75": the knobs that have more than one value.
std::string knob_name(const Setting& setting, const KnobBounds& bounds) {
  std::vector<std::string> parts;
  if (bounds.policies.size() > 1) {
    parts.push_back(setting.policy);
  }
  if (bounds.depths.size() > 1) {
    parts.push_back(fmt::format("depth{}", setting.depth));
  }
  if (bounds.prefetch_bytes_per_second.size() > 1) {
    parts.push_back(setting.prefetch_bytes_per_second > 0
                        ? fmt::format("rate{:.0f}k", setting.prefetch_bytes_per_second / 1e3)
                        : "fullrate");
  }
  if (bounds.slot_shares.size() > 1) {
    parts.push_back(fmt::format("slots{:.0f}", setting.slot_share * 100));
  }
  return fmt::format("{}", fmt::join(parts, "-"));
}

std::string knob_help(const Setting& setting) {
  return fmt::format(
      "keep rows by {}, fetch {} batches ahead{}, {:.0f} % of memory for kept rows", setting.policy,
      setting.depth,
      setting.prefetch_bytes_per_second > 0
          ? fmt::format(" at no more than {:.3g} MB/s", setting.prefetch_bytes_per_second / 1e6)
          : "",
      setting.slot_share * 100);
}

}  // namespace

Result<ActionSet> knob_actions(const KnobBounds& bounds) {
  RUDDER_TRY(check_bounds(bounds));
  RUDDER_TRY(check_combinations(bounds));
  ActionSet set;
  set.name = "knobs";
  for (const std::string& policy : bounds.policies) {
    for (const std::uint32_t depth : bounds.depths) {
      for (const double rate : bounds.prefetch_bytes_per_second) {
        for (const double share : bounds.slot_shares) {
          Setting setting;
          setting.policy = policy;
          setting.depth = depth;
          setting.prefetch_bytes_per_second = rate;
          setting.slot_share = share;
          set.actions.push_back({knob_name(setting, bounds), knob_help(setting), setting});
        }
      }
    }
  }
  for (std::size_t i = 0; i < set.actions.size(); ++i) {
    if (set.find(set.actions[i].name) != i) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("two knob settings are called '{}'", set.actions[i].name)};
    }
  }
  return set;
}

}  // namespace rudder::steer
